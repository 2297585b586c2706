/** How long jobs of an endpoint waited and ran lately: read from what was written down of its traffic, which does not grow with its jobs. */
import { jobTimes, stepsOf } from '../domain/job-times.ts';
import type { JobTimes } from '../domain/job-times.ts';
import type { Stores } from '../store/storage.ts';

/** Times in all and by steps. */
export interface JobTimesAnswer {
  total: JobTimes;
  steps: JobTimes[];
  stepMs: number;
}

/** INVALID_REQUEST: a span out of range. `span`: 0 is an hour. */
export async function readJobTimes({ traffic }: Pick<Stores, 'traffic'>, endpointId: string, span: number): Promise<JobTimesAnswer> {
  const { spanMs, stepMs } = stepsOf(span);
  const { sinceMs, steps } = await traffic.times(endpointId, spanMs, stepMs);
  return { ...jobTimes(steps, sinceMs), stepMs };
}
