/** POST /purge-queue: removes all queued jobs. Running jobs continue (docs/reference/api.md#cancel-retry-purge). */

import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, sendJson } from '../jobs/job-parts.ts';

/** Returns the handler of the route. */
export function purgeQueue({ jobs }: JobParts): JobHandler {
  return async (request, reply) => {
    const removed = await jobs.purge(request.caller.apiKey, endpointIdOf(request));
    return sendJson(reply, `{"removed":${removed},"status":"completed"}`);
  };
}
