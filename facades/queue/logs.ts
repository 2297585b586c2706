/**
 * GET /logs/{job_id}: lines that workers wrote while they ran a job's attempts (docs/reference/api.md#logs), as a page,
 * or live as server-sent events for `Accept: text/event-stream`. The events look like those of a worker's log. The id
 * of an event is the position after it: `<attempt>-<offset>`.
 */

import { delay } from '@slipway/kit/time/clock';
import type { JobLogLine } from '@slipway/proto/gen/slipway/v1/job_log';
import type { GetJobLogResponse } from '@slipway/proto/gen/slipway/v1/job_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JobHandler, JobParts } from '../jobs/job-parts.ts';
import { endpointIdOf, jobIdOf, sendJson } from '../jobs/job-parts.ts';
import { LiveResponse } from '../jobs/live-response.ts';
import { frameEvent, HEARTBEAT } from '../jobs/sse.ts';
import { publicError, toCoreError } from '../plugins/errors/public-error.ts';
import type { HeldAnswer } from '../plugins/limits/answer-budget.ts';
import { publicStatus } from './present-job.ts';
import { boundedNumber } from './query-numbers.ts';
import { wantsEvents } from './stream-shape.ts';

/** Intervals of a live feed in milliseconds: of its polls, and of its keep-alive comments. */
const POLL_MS = 500;
const HEARTBEAT_MS = 15_000;
const LINES_MAX = 1_000;
/** About the bytes of a line's record without its text. */
const RECORD_BYTES = 160;

interface LogCursor {
  attempt: number;
  offset: number;
}

type Read = (position: LogCursor) => Promise<HeldAnswer<GetJobLogResponse>>;

/** Returns the handler of the route. Query of a page: `cursor` (from the previous page), `limit` (1 to 1,000). */
export function logs(parts: JobParts): JobHandler {
  return async (request, reply) => {
    const isLive = wantsEvents(request.headers.accept);
    const limit = isLive ? LINES_MAX : boundedNumber(request.query, 'limit', LINES_MAX, { min: 1, max: LINES_MAX });
    const asked = { endpointId: endpointIdOf(request), jobId: jobIdOf(request), limit };
    const read: Read = (position) =>
      parts.answers.hold(request, reply, {
        read: () => parts.jobs.log(request.caller.apiKey, { ...asked, ...position }),
        bytesOf: ({ lines }) => lines.reduce((bytes, { text }) => bytes + text.length + RECORD_BYTES, 0),
      });
    const position = placeOf(
      isLive ? request.headers['last-event-id'] : (request.query as Record<string, unknown>)['cursor'],
    );
    if (isLive) return follow(parts, request, reply, position, read);
    const { answer: page } = await read(position);
    return sendJson(
      reply,
      JSON.stringify({
        id: asked.jobId,
        status: publicStatus(page.state),
        lines: page.lines.map(lineRecord),
        cursor: `${page.attempt}-${page.offset}`,
        more: page.more,
        over: page.over,
        ...(page.missing === '' ? {} : { missing: page.missing }),
      }),
    );
  };
}

function placeOf(text: unknown): LogCursor {
  if (text === undefined || text === '') return { attempt: 0, offset: 0 };
  const [, attempt, offset] = /^(\d{1,9})-(\d{1,15})$/.exec(typeof text === 'string' ? text.trim() : '') ?? [];
  if (attempt === undefined)
    throw new CoreError(
      'INVALID_REQUEST',
      '"cursor" and Last-Event-ID must be a value from an earlier answer: <attempt>-<offset>.',
    );
  return { attempt: Number(attempt), offset: Number(offset) };
}

function lineRecord({ time, text, attempt, workerId, shared }: JobLogLine) {
  return { source: 'container', ts: time?.toISOString(), line: text, attempt, workerId, ...(shared ? { shared } : {}) };
}

async function follow(
  { clock }: JobParts,
  request: FastifyRequest,
  reply: FastifyReply,
  start: LogCursor,
  read: Read,
): Promise<FastifyReply> {
  const live = new LiveResponse(reply);
  const gone = new AbortController();
  live.whenGone(() => gone.abort());
  // Before the headers, so that an unknown job is a plain 404.
  let held: HeldAnswer<GetJobLogResponse> | undefined = await read(start);
  live.start('text/event-stream; charset=utf-8');
  let position = start;
  let missing = '';
  let sentAtMs = clock.monotonicMs();
  try {
    while (!live.closed) {
      const page: GetJobLogResponse | undefined = held?.answer;
      for (const line of page?.lines ?? []) {
        await live.write(frameEvent({ id: `${line.attempt}-${line.offset}`, data: JSON.stringify(lineRecord(line)) }));
        sentAtMs = clock.monotonicMs();
      }
      if (page && page.missing !== missing) {
        missing = page.missing;
        if (missing !== '') await live.write(frameEvent({ event: 'missing', data: JSON.stringify({ missing }) }));
      }
      held?.release();
      if (page) position = { attempt: page.attempt, offset: page.offset };
      if (page?.over) {
        await live.write(
          frameEvent({
            event: 'end',
            data: JSON.stringify({ id: jobIdOf(request), status: publicStatus(page.state) }),
          }),
        );
        break;
      }
      if (clock.monotonicMs() - sentAtMs >= HEARTBEAT_MS) {
        await live.write(HEARTBEAT);
        sentAtMs = clock.monotonicMs();
      }
      if (!page?.more) await delay(clock, POLL_MS, gone.signal);
      held = live.closed ? undefined : await readAgain(read, position);
    }
  } catch (error) {
    const { text, code } = publicError(toCoreError(error));
    await live.write(frameEvent({ event: 'error', data: JSON.stringify({ error: text, code }) }));
  }
  live.end();
  return reply;
}

/** Returns `undefined` if core or the machine is overloaded. */
async function readAgain(read: Read, position: LogCursor): Promise<HeldAnswer<GetJobLogResponse> | undefined> {
  try {
    return await read(position);
  } catch (error) {
    const { reason } = toCoreError(error);
    if (reason === 'RATE_LIMITED' || reason === 'UNAVAILABLE') return undefined;
    throw error;
  }
}
