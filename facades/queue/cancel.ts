/** POST /cancel/{job_id}: cancels a queued or running job; a final one is answered with the state it has (compat.md 1.8). */
import { presentReceipt, publicStatus } from './present-job.ts';
import { endpointIdOf, jobIdOf, sendJson } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';

/** The route. */
export function cancel({ jobs }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const job = await jobs.cancel(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    return sendJson(reply, presentReceipt(job.id, publicStatus(job.state)));
  };
}
