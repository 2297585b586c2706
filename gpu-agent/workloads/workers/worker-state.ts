/** The state that core sees of a worker, from the phase of its workload. Pure. */

import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Observed, Want } from '../step.ts';
import { hasMoved } from '../step.ts';

/** Returns the state to report. `refresh`: the worker asked to be replaced. `ended`: the state once nothing runs. */
export function workerStateOf(
  { phase, asked, isEnding }: Pick<Observed, 'phase' | 'asked'> & { isEnding: boolean },
  want: Want,
  refresh: boolean,
  ended: WorkerState,
): WorkerState {
  if (phase === 'exited' || phase === 'removing' || phase === 'removed') return ended;
  if (isEnding || refresh || want === 'draining' || want === 'absent' || want === 'shutdown')
    return WorkerState.DRAINING;
  if (phase === 'freezing' || phase === 'frozen' || hasMoved(phase)) return WorkerState.FROZEN;
  return asked ? WorkerState.READY : WorkerState.INITIALIZING;
}

/** Returns whether a worker in this state no longer runs. */
export function isOver(state: WorkerState): boolean {
  return state === WorkerState.UNHEALTHY || state === WorkerState.STOPPED;
}
