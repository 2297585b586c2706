/** Texts about a machine that is being drained. */
import type { DrainView } from '../../../views-of-drains.ts';
import { counted, recently } from './format.ts';

/** Returns whether no worker and no job is left. */
export function isDrained({ workers, jobs }: DrainView): boolean {
  return workers + jobs === 0;
}

/** Returns how far it is: `draining: 2 workers, 1 job left`, or `drained`. */
export function drainProgress(drain: DrainView): string {
  if (isDrained(drain)) return 'drained';
  return `draining: ${counted(drain.workers, 'worker')}, ${counted(drain.jobs, 'job')} left`;
}

/** Returns the rest: `until Nov 27, 16:30:00, 1 pod stays, new GPUs`. Empty if there is none. */
export function drainRest(drain: DrainView, nowMs: number): string {
  const { deadlineMs, pods, reason } = drain;
  const deadline = deadlineMs > nowMs ? `until ${recently(deadlineMs)}` : 'deadline over';
  return [
    deadlineMs === 0 || isDrained(drain) ? '' : deadline,
    pods === 0 ? '' : `${counted(pods, 'pod')} ${pods === 1 ? 'stays' : 'stay'}`,
    reason,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
