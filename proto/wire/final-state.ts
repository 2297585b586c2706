/** States that a job leaves only when it is retried. */
import { JobState } from '../gen/slipway/v1/job.ts';

/** Returns whether a job changes only when it is retried. */
export function isFinal(state: JobState): boolean {
  return (
    state === JobState.COMPLETED ||
    state === JobState.FAILED ||
    state === JobState.CANCELLED ||
    state === JobState.TIMED_OUT
  );
}
