/** Shows whether a machine takes new work, and how far its drain is. */
import type { MachineView } from '../../../views.ts';
import { drainProgress, drainRest, isDrained } from '../lib/drain-text.ts';
import { Badge } from './parts.tsx';

/** Shows that a machine is cordoned, draining or drained; nothing if it takes new work. */
export function DrainBadge({ machine: { cordoned, drain } }: { machine: MachineView }) {
  if (drain) return <Badge word={drainProgress(drain)} tone={isDrained(drain) ? 'good' : 'warn'} />;
  return cordoned ? <Badge word="cordoned" tone="warn" /> : null;
}

/** Shows the badge with the deadline, the pods and the reason of a drain. `nowMs` is the server's clock. */
export function DrainState({ machine, nowMs }: { machine: MachineView; nowMs: number }) {
  const rest = machine.drain ? drainRest(machine.drain, nowMs) : '';
  return (
    <>
      <DrainBadge machine={machine} />{' '}
      {rest !== '' && (
        <span className="hint text" title={rest}>
          {rest}
        </span>
      )}
    </>
  );
}
