/** POST /retry/{job_id}: queues a FAILED or TIMED_OUT job again under its id (docs/reference/api.md#states). */

import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import { presentAccepted } from './present-job.ts';

/** Returns the handler of the route. */
export function retry({ jobs }: JobParts): JobHandler {
  return async (request, reply) => {
    const job = await jobs.retry(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    return sendJson(reply, presentAccepted(job));
  };
}
