/** POST /retry/{job_id}: queues a FAILED or TIMED_OUT job again under its id (spec.md 3). */
import { presentAccepted } from './present-job.ts';
import { endpointIdOf, jobIdOf, sendJson } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';

/** The route. */
export function retry({ jobs }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const job = await jobs.retry(request.caller.apiKey, endpointIdOf(request), jobIdOf(request));
    return sendJson(reply, presentAccepted(job));
  };
}
