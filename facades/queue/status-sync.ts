/**
 * GET or POST /status-sync/{job_id}: returns the job when it is final, or when `wait` ends
 * (docs/reference/api.md#status).
 */
import type { Job } from '@slipway/proto/gen/slipway/v1/job';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson, whileConnected } from '../jobs/job-parts.ts';
import { holdJob } from './hold-job.ts';
import { presentJob } from './present-job.ts';
import { statusSyncWaitMs } from './query-numbers.ts';

/** Returns the handler of the route. */
export function statusSync(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const waitRequest = {
      endpointId: endpointIdOf(request),
      jobId: jobIdOf(request),
      waitMs: statusSyncWaitMs(request.query),
    };
    const read = (): Promise<Job> =>
      whileConnected(parts, request, reply, parts.jobs.wait(request.caller.apiKey, waitRequest));
    return sendJson(reply, presentJob(await holdJob(parts, request, reply, read)));
  };
}
