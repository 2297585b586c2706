/** GET or POST /status/{job_id}: reads a job; `ttl` sets its remaining life (spec.md 4.3, compat.md 1.6). */
import { presentJob } from './present-job.ts';
import { statusTtlMs } from './query-numbers.ts';
import { endpointIdOf, jobIdOf, sendJson } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';

/** The route. */
export function status({ jobs }: QueueParts): QueueHandler {
  return async (request, reply) => {
    const ttlMs = statusTtlMs(request.query);
    const job = await jobs.get(request.caller.apiKey, {
      endpointId: endpointIdOf(request), jobId: jobIdOf(request), omitOutput: false, ttlMs,
    });
    return sendJson(reply, presentJob(job));
  };
}
