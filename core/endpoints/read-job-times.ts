/**
 * Reads recent waiting and execution times and rates of an endpoint's jobs from its traffic counters, whose size does
 * not depend on the number of jobs.
 */

import type { JobRates, JobTimes } from '../domain/jobs/job-times.ts';
import { jobTimes, stepsOf } from '../domain/jobs/job-times.ts';
import type { Stores } from '../store/storage.ts';

/** Times in all and by steps. */
interface JobTimesAnswer {
  total: JobTimes;
  steps: JobTimes[];
  rates: JobRates[];
  stepMs: number;
}

/** Returns the times. `span`: in milliseconds; 0 is an hour. Throws INVALID_REQUEST if it is out of range. */
export async function readJobTimes(
  { traffic }: Pick<Stores, 'traffic'>,
  endpointId: string,
  span: number,
): Promise<JobTimesAnswer> {
  const { spanMs, stepMs } = stepsOf(span);
  const { sinceMs, steps } = await traffic.times(endpointId, spanMs, stepMs);
  return { ...jobTimes(steps, sinceMs), stepMs };
}
