/**
 * Streams the log lines of a worker or a pod as server-sent events of REST v2
 * (docs/reference/api.md#log-of-a-worker-or-a-pod).
 */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { JobLogLine, JobLogPage } from '@slipway/proto/gen/slipway/v1/job_log';
import { WORKER_LOG_BYTES_MAX } from '@slipway/proto/wire/limits';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CoreClient } from '../../core-client/core-client.ts';
import { LiveResponse } from '../../jobs/live-response.ts';
import { frameEvent, HEARTBEAT } from '../../jobs/sse.ts';
import { publicError, toCoreError } from '../../plugins/errors/public-error.ts';
import type { AnswerBudget } from '../../plugins/limits/answer-budget.ts';
import { isBehind, LineIds } from './line-ids.ts';
import type { LogQuery } from './log-query.ts';
import { logQuery } from './log-query.ts';

/** Interval of reads, and interval of comments while there are no new lines, in milliseconds. */
const POLL_MS = 500;
const HEARTBEAT_MS = 15_000;
/** Approximate bytes of a line's record without its text. */
const RECORD_BYTES = 120;
/**
 * Bytes from the end in which the last lines are searched. If needed, four times as many are searched, up to the whole
 * stored log.
 */
const SEARCH_BYTES = 65_536;
const SEARCH_FACTOR = 4;

export interface LineLogParts {
  core: Pick<CoreClient, 'machines' | 'pods'>;
  answers: AnswerBudget;
  clock: Clock;
  logger: Logger;
}

/** Reads the page that begins at a byte of the log. */
export type ReadPage = (offset: number) => Promise<JobLogPage>;

/** Lines to send, and the page after which to continue. */
interface Part {
  lines: readonly JobLogLine[];
  page: Omit<JobLogPage, 'lines'>;
}

/**
 * Reads a part. Its lines count against the response budget until the next part is read; by then they have been
 * written.
 */
type Read = (part: () => Promise<Part>) => Promise<Part>;

/**
 * Returns the handler of a route. `readerOf`: returns the reader of the log that the request names; throws if there is
 * none. Query: see log-query.ts.
 */
export function logOfLines(
  { answers, clock }: LineLogParts,
  readerOf: (request: FastifyRequest) => ReadPage,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const readPage = readerOf(request);
    const query = logQuery(request, clock.nowMs());
    let release = (): void => undefined;
    const read: Read = async (part) => {
      release();
      release = () => undefined;
      const held = await answers.hold(request, reply, { read: part, bytesOf: ({ lines }) => bytesOf(lines) });
      ({ release } = held);
      return held.answer;
    };
    // Read before the headers are sent, so that an unknown resource gets a plain 404.
    const beginning = await read(() =>
      query.tail === undefined ? partAt(readPage, 0) : lastLines(readPage, query.tail, query.source),
    );
    return follow({ clock, reply, query, readPage, read, beginning });
  };
}

function bytesOf(lines: readonly JobLogLine[]): number {
  return lines.reduce((bytes, { text }) => bytes + text.length + RECORD_BYTES, 0);
}

async function partAt(readPage: ReadPage, offset: number): Promise<Part> {
  const { lines, ...page } = await readPage(offset);
  return { lines, page };
}

/**
 * Returns the part since the last read. A log that is shorter than before is a new one: its agent was killed, and the
 * output of commands was lost with it.
 */
async function partBehind(readPage: ReadPage, offset: number): Promise<Part> {
  const part = await partAt(readPage, offset);
  return part.page.offset < offset ? partAt(readPage, 0) : part;
}

/** Returns the last lines of a source and the end of the log, without reading all of it. */
async function lastLines(readPage: ReadPage, tail: number, source: LogQuery['source']): Promise<Part> {
  // Not the end itself, which may be in the middle of a line.
  if (tail === 0) return { lines: [], page: (await lastLines(readPage, 1, '')).page };
  const { page: end } = await partAt(readPage, Number.MAX_SAFE_INTEGER);
  for (let searched = SEARCH_BYTES; ; searched *= SEARCH_FACTOR) {
    const from = Math.max(end.offset - searched, 0);
    let { lines, page } = await partAt(readPage, from);
    // The part may begin in the middle of a line.
    if (from > 0 && !page.cut) lines = lines.slice(1);
    lines = lines.filter((line) => isOf(source, line));
    while (page.more && page.offset < end.offset) {
      const next = await partAt(readPage, page.offset);
      lines = [...lines, ...next.lines.filter((line) => isOf(source, line))].slice(-tail);
      ({ page } = next);
    }
    if (lines.length >= tail || from === 0 || searched >= WORKER_LOG_BYTES_MAX)
      return { lines: lines.slice(-tail), page };
  }
}

/** Returns the source of a line as REST v2 names it. */
function sourceOf({ system }: JobLogLine): 'system' | 'container' {
  return system ? 'system' : 'container';
}

/** Returns whether a line is of the source that was asked for. */
function isOf(source: LogQuery['source'], line: JobLogLine): boolean {
  return source === '' || source === 'both' || source === sourceOf(line);
}

/** Dependencies of following a log. */
interface Following {
  clock: Clock;
  reply: FastifyReply;
  query: LogQuery;
  readPage: ReadPage;
  read: Read;
  beginning: Part;
}

async function follow({ clock, reply, query, readPage, read, beginning }: Following): Promise<FastifyReply> {
  const live = new LiveResponse(reply);
  const gone = new AbortController();
  live.whenGone(() => gone.abort());
  live.start('text/event-stream; charset=utf-8');
  const ids = new LineIds();
  let { lines, page } = beginning;
  let sentAtMs = clock.monotonicMs();
  try {
    while (!live.closed) {
      for (const line of lines) {
        // Ids count all lines, so that they do not depend on the source that was asked for.
        const id = ids.next(line.time!);
        if (!isOf(query.source, line) || isBehind(line.time!, id, query)) continue;
        await live.write(
          frameEvent({
            id,
            data: JSON.stringify({ source: sourceOf(line), line: line.text, ts: line.time!.toISOString() }),
          }),
        );
        sentAtMs = clock.monotonicMs();
      }
      if (page.over && !page.more) break;
      if (clock.monotonicMs() - sentAtMs >= HEARTBEAT_MS) {
        await live.write(HEARTBEAT);
        sentAtMs = clock.monotonicMs();
      }
      if (!page.more) await delay(clock, POLL_MS, gone.signal);
      if (live.closed) break;
      const { offset } = page;
      ({ lines, page } = await goOn({ lines: [], page }, () => read(() => partBehind(readPage, offset))));
    }
  } catch (error) {
    // Clients treat every event as a line, whatever its name. A comment is for people.
    await live.write(`: ${publicError(toCoreError(error)).text}\n\n`);
  }
  live.end();
  return reply;
}

/** Reads the next part. Returns an empty one while core or the machine is overloaded or briefly unavailable. */
async function goOn({ lines, page }: Part, read: () => Promise<Part>): Promise<Part> {
  try {
    return await read();
  } catch (error) {
    const { reason } = toCoreError(error);
    if (reason === 'RATE_LIMITED' || reason === 'UNAVAILABLE')
      return { lines, page: { ...page, more: false, over: false } };
    throw error;
  }
}
