/**
 * How long jobs of an endpoint waited and ran lately, and how many came and ended: of what was written down of its
 * traffic, which grows with no job.
 */

import type { JobRates, JobTimes } from '../domain/jobs/job-times.ts';
import { jobTimes, stepsOf } from '../domain/jobs/job-times.ts';
import type { Stores } from '../store/storage.ts';

/** Times in all and by steps. */
export interface JobTimesAnswer {
  total: JobTimes;
  steps: JobTimes[];
  rates: JobRates[];
  stepMs: number;
}

/** INVALID_REQUEST: a span out of range. `span`: 0 is an hour. */
export async function readJobTimes(
  { traffic }: Pick<Stores, 'traffic'>,
  endpointId: string,
  span: number,
): Promise<JobTimesAnswer> {
  const { spanMs, stepMs } = stepsOf(span);
  const { sinceMs, steps } = await traffic.times(endpointId, spanMs, stepMs);
  return { ...jobTimes(steps, sinceMs), stepMs };
}
