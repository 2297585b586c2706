/**
 * The lines that a worker or a pod wrote, live as server-sent events of REST v2
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

/** How often it looks for more, and how often a log without news sends a comment, in milliseconds. */
const LOOK_MS = 500;
const HEARTBEAT_MS = 15_000;
/** About the bytes of a line's record without its text. */
const RECORD_BYTES = 120;
/** Where the last lines are looked for, in bytes from the end; then in four times as many, up to all that is kept. */
const LOOKED_BYTES = 65_536;
const LOOKED_FACTOR = 4;

export interface LineLogParts {
  core: Pick<CoreClient, 'machines' | 'pods'>;
  answers: AnswerBudget;
  clock: Clock;
  logger: Logger;
}

/** Reads the page that begins at this byte of the log. */
export type ReadPage = (offset: number) => Promise<JobLogPage>;

/** Lines to tell, and where to go on. */
interface Part {
  lines: readonly JobLogLine[];
  page: Omit<JobLogPage, 'lines'>;
}

/** Reads a part whose lines count as an answer until the next one is read: by then they have been written. */
type Read = (part: () => Promise<Part>) => Promise<Part>;

/** A route. `readerOf`: of the log that the request names; throws when it can be none. Query: see log-query.ts. */
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
    // Before the headers, so that what is unknown is a plain 404.
    const beginning = await read(() =>
      query.tail === undefined ? partAt(readPage, 0) : lastLines(readPage, query.tail),
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
 * What came since. A log that ends before what was read is another: its agent was killed, and with it went what
 * commands had written.
 */
async function partBehind(readPage: ReadPage, offset: number): Promise<Part> {
  const part = await partAt(readPage, offset);
  return part.page.offset < offset ? partAt(readPage, 0) : part;
}

/** The last lines and the end of the log, without reading all of it. */
async function lastLines(readPage: ReadPage, tail: number): Promise<Part> {
  // Not the end itself, which may be amid a line.
  if (tail === 0) return { lines: [], page: (await lastLines(readPage, 1)).page };
  const { page: end } = await partAt(readPage, Number.MAX_SAFE_INTEGER);
  for (let looked = LOOKED_BYTES; ; looked *= LOOKED_FACTOR) {
    const from = Math.max(end.offset - looked, 0);
    let { lines, page } = await partAt(readPage, from);
    // It may begin amid a line.
    if (from > 0 && !page.cut) lines = lines.slice(1);
    while (page.more && page.offset < end.offset) {
      const next = await partAt(readPage, page.offset);
      lines = [...lines, ...next.lines].slice(-tail);
      ({ page } = next);
    }
    if (lines.length >= tail || from === 0 || looked >= WORKER_LOG_BYTES_MAX)
      return { lines: lines.slice(-tail), page };
  }
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
  let toldAtMs = clock.monotonicMs();
  try {
    while (!live.closed) {
      for (const line of query.source === 'system' ? [] : lines) {
        const id = ids.next(line.time!);
        if (isBehind(line.time!, id, query)) continue;
        await live.write(
          frameEvent({
            id,
            data: JSON.stringify({ source: 'container', line: line.text, ts: line.time!.toISOString() }),
          }),
        );
        toldAtMs = clock.monotonicMs();
      }
      if (page.over && !page.more) break;
      if (clock.monotonicMs() - toldAtMs >= HEARTBEAT_MS) {
        await live.write(HEARTBEAT);
        toldAtMs = clock.monotonicMs();
      }
      if (!page.more) await delay(clock, LOOK_MS, gone.signal);
      if (live.closed) break;
      const { offset } = page;
      ({ lines, page } = await goOn({ lines: [], page }, () => read(() => partBehind(readPage, offset))));
    }
  } catch (error) {
    // Clients take every event for a line, whatever it is called; a comment is for people.
    await live.write(`: ${publicError(toCoreError(error)).text}\n\n`);
  }
  live.end();
  return reply;
}

/** Nothing more for now while core or the machine has too much to do, or is away for a moment. */
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
