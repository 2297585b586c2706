/**
 * Machines with a square for each GPU: free, ill, or in use, the darker the busier it is, or where no driver tells that
 * the busier its worker is.
 */
import { Link } from 'wouter';
import type { MachineView } from '../../../views.ts';
import type { GpuView } from '../../../views-of-gpus.ts';
import { mib } from '../lib/format.ts';
import { Badge, Empty, Panel } from '../ui/parts.tsx';
import { busyText, loadText } from './gpu-load.ts';

/** The map. `isOld`: the machines are of what was chosen before. */
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
              {machine.cordoned && <Badge word="cordoned" tone="warn" />}
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

/** None is there. */
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

function Square({ gpu: { name, memoryMib, unhealthy, heldBy, workerId, endpointName, busy, load } }: { gpu: GpuView }) {
  const state = unhealthy !== '' ? 'unhealthy' : heldBy === '' ? 'free' : 'used';
  const holder = heldBy === 'pod' ? 'a pod' : endpointName || workerId || 'free';
  const work = heldBy === 'worker' ? `, ${busyText(busy)}` : '';
  const loaded = load ? loadText(load, memoryMib) : '';
  const text = `${name}, ${mib(memoryMib)}: ${unhealthy !== '' ? unhealthy : `${holder}${work}`}${loaded && `; ${loaded}`}`;
  // One that is free may be in use by what Slipway does not know.
  const heat = load?.utilization ?? (heldBy === 'worker' ? busy : undefined);
  const shade = state !== 'unhealthy' && heat !== undefined ? ` busy-${Math.ceil(heat * SHADES)}` : '';
  return (
    <li className={`gpu ${state}${shade}${load ? ' loaded' : ''}`} title={text}>
      <span aria-hidden="true">{name}</span>
      <small aria-hidden="true">{state === 'used' ? holder : state}</small>
      {load && <small aria-hidden="true">{loadText({ ...load, temperatureCelsius: null, powerWatts: null })}</small>}
      <span className="spoken">{text}</span>
    </li>
  );
}
