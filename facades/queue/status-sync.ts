/** GET or POST /status-sync/{job_id}: the status record as soon as the job is final, or as it stands when `wait` ends (compat.md 1.6). */
import { presentJob } from './present-job.ts';
import { statusSyncWaitMs } from './query-numbers.ts';
import { endpointIdOf, jobIdOf, sendJson, whileConnected } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';

/** The route. */
export function statusSync({ jobs }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const waitMs = statusSyncWaitMs(request.query);
    const call = jobs.wait(request.caller.apiKey, { endpointId: endpointIdOf(request), jobId: jobIdOf(request), waitMs });
    return sendJson(reply, presentJob(await whileConnected(reply, call)));
  };
}
