/**
 * GET or POST /stream/{job_id} (spec.md 2.5, compat.md 1.7): the chunks since the previous call, each one delivered once. Holds a little
 * when there are none, so that clients without a pause of their own do not spin. `Accept: text/event-stream` gets the live feed.
 */
import { presentChunks, streamStatus } from './present-chunks.ts';
import { streamWaitMs } from './query-numbers.ts';
import { endpointIdOf, jobIdOf, sendJson, whileConnected } from './queue-parts.ts';
import type { QueueHandler, QueueParts } from './queue-parts.ts';
import { streamEvents } from './stream-events.ts';
import { chooseStreamShape, wantsEvents } from './stream-shape.ts';

/** Most chunks in one answer. */
export const CHUNKS_PER_READ = 1_000;

/** The route. */
export function stream(parts: QueueParts): QueueHandler {
  const events = streamEvents(parts);
  return async (request, reply) => {
    if (wantsEvents(request.headers.accept)) return events(request, reply);
    const format = (request.query as Record<string, unknown>)['format'];
    const { method, sentContentType: contentType } = request;
    const shape = chooseStreamShape({ format, setting: parts.config.streamShape, method, contentType });
    const waitMs = streamWaitMs(request.query);
    const call = parts.jobs.chunks(request.caller.apiKey, {
      endpointId: endpointIdOf(request), jobId: jobIdOf(request), cursor: undefined, waitMs, limit: CHUNKS_PER_READ,
    });
    const page = await whileConnected(reply, call);
    return sendJson(reply.header('x-job-status', streamStatus(page)), presentChunks(page, shape));
  };
}
