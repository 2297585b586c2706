/**
 * The live feed of a job's streamed output as server-sent events. It reads the log from its own position, so any number
 * of readers see everything, and a reader that reconnects with Last-Event-ID continues where it was. If an attempt is
 * lost, ids continue with the next attempt (`2-1` after `1-7`), and the output of the lost one is void. Ends with
 * `event: end` and the job's status.
 */

import type { ChunkCursor } from '@slipway/proto/gen/slipway/v1/job';
import type { ReadChunksResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { isFinal } from '@slipway/proto/wire/final-state';
import type { FastifyRequest } from 'fastify';
import { chunkId, parseChunkId } from '../jobs/chunk-id.ts';
import { pageBytes } from '../jobs/job-bytes.ts';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, readingKey, whileAllowed } from '../jobs/job-parts.ts';
import { LiveResponse } from '../jobs/live-response.ts';
import { frameEvent, HEARTBEAT } from '../jobs/sse.ts';
import { publicError, toCoreError } from '../plugins/errors/public-error.ts';
import type { HeldAnswer } from '../plugins/limits/answer-budget.ts';
import { presentChunk } from './present-chunks.ts';
import { publicStatus } from './present-job.ts';

type HeldPage = HeldAnswer<ReadChunksResponse>;

/** Time between keep-alive comments, in milliseconds. */
const HEARTBEAT_MS = 15_000;
const CHUNKS_PER_READ = 100;

/** Returns the handler for `Accept: text/event-stream`. */
export function streamEvents(parts: JobParts): JobHandler {
  const { jobs, answers } = parts;
  return async (request, reply) => {
    const target = { endpointId: endpointIdOf(request), jobId: jobIdOf(request), limit: CHUNKS_PER_READ };
    const { apiKey } = request.caller;
    const live = new LiveResponse(reply);
    const watchKey = readingKey(parts, request);
    const read = (cursor: ChunkCursor, waitMs: number): Promise<HeldPage> =>
      answers.hold(request, reply, {
        read: async () => {
          const call = jobs.chunks(apiKey, { ...target, cursor, waitMs });
          const takeBack = live.whenGone(call.abandon);
          return whileAllowed(watchKey, call).finally(takeBack);
        },
        bytesOf: pageBytes,
      });
    // Before the headers, so that an unknown job is a plain 404.
    const first = await read(startOf(request), 0);
    live.start('text/event-stream; charset=utf-8');
    await follow(live, first, target.jobId, (cursor) => read(cursor, HEARTBEAT_MS));
    live.end();
    return reply;
  };
}

function startOf(request: FastifyRequest): ChunkCursor {
  return parseChunkId(request.headers['last-event-id']);
}

async function follow(
  live: LiveResponse,
  first: HeldPage,
  jobId: string,
  next: (cursor: ChunkCursor) => Promise<HeldPage>,
): Promise<void> {
  try {
    let held = first;
    while (!live.closed) {
      const page = held.answer;
      for (const chunk of page.chunks) await live.write(frameEvent({ id: chunkId(chunk), data: presentChunk(chunk) }));
      if (isFinal(page.state) && !page.more) return await live.write(endEvent(jobId, page));
      if (page.chunks.length === 0 && held !== first) await live.write(HEARTBEAT);
      held.release();
      held = await next(page.cursor ?? { attempt: 0, number: 0 });
    }
  } catch (error) {
    const { text, code } = publicError(toCoreError(error));
    await live.write(frameEvent({ event: 'error', data: JSON.stringify({ error: text, code }) }));
  }
}

function endEvent(jobId: string, { state, error }: ReadChunksResponse): string {
  return frameEvent({ event: 'end', data: JSON.stringify({ id: jobId, status: publicStatus(state), error }) });
}
