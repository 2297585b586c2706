/** Lines about a workload in its own log. Pure. */
import type { WorkloadExit } from '../executors/executor.ts';
import { describeExit } from '../launch/end-reason.ts';
import type { EndCause, Phase } from './step.ts';

const CAUSES: Readonly<Record<EndCause, string>> = {
  unwanted: 'it is not wanted any more',
  replaced: 'it is started anew',
  agent: 'its agent ends it',
  late: 'it did not ask for work in time',
  grace: 'it did not end in time',
};
const WAYS = { abandon: 'Its preparation ends', stop: 'Asked to end', kill: 'Killed' };

/** Returns the line for a workload that enters a phase. Empty: there is none. */
export function phaseLine(from: Phase, to: Phase): string {
  if (to === 'frozen') return 'On standby: it keeps its memory.';
  if (to === 'offloaded') return 'On standby: its GPU memory is in host memory.';
  if (to !== 'running') return '';
  return (
    { preparing: 'Started.', frozen: 'Resumed.', restoring: 'Resumed: its GPU memory is restored.' }[from as string] ??
    ''
  );
}

/** Returns the line for a workload that is about to end. */
export function leaveLine(how: keyof typeof WAYS, why: EndCause): string {
  return `${WAYS[how]}: ${CAUSES[why]}.`;
}

/**
 * Returns the line for a workload that has ended. `pauseMs`: time until it is started again; Infinity: it is not, until
 * its owner changes something; `undefined`: nothing is said about that.
 */
export function endLine(exit: WorkloadExit, pauseMs?: number): string {
  const sentence = `It ${describeExit(exit).replace(/\.$/, '')}.`;
  if (pauseMs === undefined) return sentence;
  if (pauseMs === Infinity) return `${sentence} Another try would end the same way, so there is none.`;
  return `${sentence} It is started again after ${Math.ceil(pauseMs / 1_000)} s.`;
}
