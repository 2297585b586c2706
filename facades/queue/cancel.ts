/**
 * POST /cancel/{job_id}: cancels a queued or running job. For a final job it returns the current state
 * (docs/reference/api.md#cancel-retry-purge).
 */

import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import { presentReceipt, publicStatus } from './present-job.ts';

/** Returns the handler of the route. */
export function cancel({ jobs }: JobParts): JobHandler {
  return async (request, reply) => {
    const job = await jobs.cancel(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    return sendJson(reply, presentReceipt(job.id, publicStatus(job.state)));
  };
}
