/** Machines with a square for each GPU: free, in use, ill. */
import { Link } from 'wouter';
import type { GpuView, MachineView } from '../../views.ts';
import { Badge, Panel } from './parts.tsx';
import { mib } from './words.ts';

/** The map. */
export function GpuMap({ machines, hasLink = false }: { machines: readonly MachineView[]; hasLink?: boolean }) {
  return (
    <Panel title="Machines and GPUs" aside={hasLink ? <Link href="/machines">Machines</Link> : undefined}>
      <ul className="machines">
        {machines.map((machine) => (
          <li key={machine.id} className={machine.connected ? '' : 'off'}>
            <div className="machine">
              <strong className="name" title={machine.name}>{machine.name}</strong>
              {machine.connected ? null : <Badge word="away" tone="bad" />}
              {machine.cordoned && <Badge word="cordoned" tone="warn" />}
              <span className="hint">{machine.workers === 1 ? '1 worker' : `${machine.workers} workers`}{machine.gpus.length === 0 ? ' · no GPU' : ''}</span>
            </div>
            <ul className="gpus">{machine.gpus.map((gpu) => <Square key={gpu.uuid} gpu={gpu} />)}</ul>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Square({ gpu: { name, memoryMib, unhealthy, heldBy, workerId, endpointName } }: { gpu: GpuView }) {
  const state = unhealthy !== '' ? 'ill' : heldBy === '' ? 'free' : 'used';
  const holder = heldBy === 'pod' ? 'a pod' : endpointName || workerId || 'free';
  const told = `${name}, ${mib(memoryMib)}: ${unhealthy !== '' ? unhealthy : holder}`;
  return (
    <li className={`gpu ${state}`} title={told}>
      <span aria-hidden="true">{name}</span><small aria-hidden="true">{state === 'used' ? holder : state}</small>
      <span className="spoken">{told}</span>
    </li>
  );
}
