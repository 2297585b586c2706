/**
 * Machines with a square for each GPU: free, unhealthy or in use. A darker square is busier, by its driver's report or
 * else by its worker's jobs.
 */
import { Link } from 'wouter';
import type { MachineView } from '../../../views.ts';
import type { GpuView } from '../../../views-of-gpus.ts';
import { mib } from '../lib/format.ts';
import { DrainBadge } from '../ui/drain-state.tsx';
import { Badge, Empty, Panel } from '../ui/parts.tsx';
import { busyText, loadText } from './gpu-load.ts';

/** Shows the map. `isOld` if the machines still match the previous choice. */
export function GpuMap({
  machines,
  isOld,
  hasLink = false,
}: {
  machines: readonly MachineView[];
  isOld: boolean;
  hasLink?: boolean;
}) {
  return (
    <Panel title="Machines and GPUs" aside={hasLink ? <Link href="/machines">Machines</Link> : undefined}>
      <ul className="machines" aria-busy={isOld}>
        {machines.map((machine) => (
          <li key={machine.id} className={machine.connected ? '' : 'off'}>
            <div className="machine">
              <strong className="name" title={machine.name}>
                <Link href={`/machines/${machine.id}`}>{machine.name}</Link>
              </strong>
              {machine.connected ? null : <Badge word="away" tone="bad" />}
              <DrainBadge machine={machine} />
              <span className="hint">
                {machine.workers === 1 ? '1 worker' : `${machine.workers} workers`}
                {machine.gpus.length === 0 ? ' · no GPU' : ''}
              </span>
            </div>
            <ul className="gpus">
              {machine.gpus.map((gpu) => (
                <Square key={gpu.uuid} gpu={gpu} />
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Says how to join the first machine. */
export function NoMachine() {
  return (
    <Empty title="No machine has joined yet.">
      <p>
        Make a join key with <code>npx slipway keys create NAME --scope agent --save agent.key</code> and start an agent
        with it.
      </p>
    </Empty>
  );
}

/** Shades of squares in use. */
const SHADES = 4;

function Square({ gpu }: { gpu: GpuView }) {
  const { name, memoryMib, unhealthy, warning, heldBy, workerId, endpointName, busy, load, offloaded } = gpu;
  const healthyState = heldBy === '' ? 'free' : 'used';
  const state = unhealthy !== '' ? 'unhealthy' : healthyState;
  const holder = heldBy === 'pod' ? 'a pod' : endpointName || workerId || 'free';
  const work = heldBy === 'worker' ? `, ${busyText(busy)}` : '';
  const loaded = load ? loadText(load, memoryMib) : '';
  const use = unhealthy !== '' ? unhealthy : `${holder}${work}`;
  const behind = offloaded.length > 0 ? `; in host memory: ${offloaded.join(', ')}` : '';
  const warned = warning === '' ? '' : `; warning: ${warning}`;
  const text = `${name}, ${mib(memoryMib)}: ${use}${loaded && `; ${loaded}`}${behind}${warned}`;
  // A free GPU may be used by a program that Slipway does not know.
  const heat = load?.utilization ?? (heldBy === 'worker' ? busy : undefined);
  const shade = state !== 'unhealthy' && heat !== undefined ? ` busy-${Math.ceil(heat * SHADES)}` : '';
  return (
    <li className={`gpu ${state}${shade}${load ? ' loaded' : ''}`} title={text}>
      <span aria-hidden="true">{name}</span>
      <small aria-hidden="true">{state === 'used' ? holder : state}</small>
      {load && <small aria-hidden="true">{loadText({ ...load, temperatureCelsius: null, powerWatts: null })}</small>}
      {offloaded.length > 0 && <small aria-hidden="true">+{offloaded.length} in host memory</small>}
      <span className="spoken">{text}</span>
    </li>
  );
}
