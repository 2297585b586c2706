/** POST /purge-queue: removes all queued jobs; running ones go on (spec.md 2.6). */
import { endpointIdOf, sendJson } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';

/** The route. */
export function purgeQueue({ jobs }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const removed = await jobs.purge(request.caller.apiKey, endpointIdOf(request));
    return sendJson(reply, `{"removed":${removed},"status":"completed"}`);
  };
}
