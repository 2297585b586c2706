/**
 * GET or POST /stream/{job_id} (docs/reference/api.md#stream): returns the chunks since the previous call, each one
 * once. Waits a little if there are none, so that clients without a pause do not spin. `Accept: text/event-stream` gets
 * the live feed.
 */

import type { ChunkCursor } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { pageBytes } from '../jobs/job-bytes.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson, whileConnected } from '../jobs/job-parts.ts';
import { presentChunks, streamStatus } from './present-chunks.ts';
import { streamWaitMs } from './query-numbers.ts';
import { streamEvents } from './stream-events.ts';
import { chooseStreamShape, wantsEvents } from './stream-shape.ts';

/** Most chunks in one response. */
export const CHUNKS_PER_READ = 1_000;

/** Returns the handler of the route. */
export function stream(parts: JobParts): JobHandler {
  const events = streamEvents(parts);
  return async (request, reply) => {
    if (wantsEvents(request.headers.accept)) return events(request, reply);
    const format = (request.query as Record<string, unknown>)['format'];
    const { method, sentContentType: contentType } = request;
    const shape = chooseStreamShape({ format, setting: parts.config.streamShape, method, contentType });
    const waitMs = streamWaitMs(request.query);
    const page = await drain(parts, request, reply, waitMs);
    return sendJson(reply.header('x-job-status', streamStatus(page)), presentChunks(page, shape));
  };
}

/**
 * Reads on from the shared cursor. A page that exceeds the memory budget is read again from its own cursor, because the
 * shared one has moved on.
 */
async function drain(
  parts: JobParts,
  request: FastifyRequest,
  reply: FastifyReply,
  waitMs: number,
): Promise<ReadChunksResponse> {
  const { jobs, answers } = parts;
  const { apiKey } = request.caller;
  const job = { endpointId: endpointIdOf(request), jobId: jobIdOf(request) };
  let before: ChunkCursor | undefined;
  let limit = CHUNKS_PER_READ;
  const { answer } = await answers.hold(request, reply, {
    read: async () => {
      const page = await whileConnected(
        parts,
        request,
        reply,
        jobs.chunks(apiKey, { ...job, cursor: undefined, waitMs, limit }),
      );
      const [first] = page.chunks;
      if (first) before = { attempt: first.attempt, number: first.number - 1 };
      limit = page.chunks.length;
      return page;
    },
    reread: async () => {
      const page = await jobs.chunks(apiKey, { ...job, cursor: before, waitMs: 0, limit }).answer;
      // Chunks of an attempt that was lost in the meantime are gone. The chunks that replace it have not been read
      // from the shared cursor yet.
      const chunks = page.chunks.filter(({ attempt }) => attempt === before?.attempt);
      return { ...page, chunks, more: page.more || chunks.length < page.chunks.length };
    },
    bytesOf: pageBytes,
  });
  return answer;
}
