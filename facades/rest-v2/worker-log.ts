/** GET /v2/serverless/{id}/workers/{workerId}/logs: the lines that a worker wrote, live as server-sent events (docs/api.md#log-of-a-worker). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../core/runtime/clock.ts';
import { delay } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { JobLogLine, JobLogPage } from '../../proto/gen/slipway/v1/job_log.ts';
import { WORKER_LOG_BYTES_MAX } from '../../proto/wire/limits.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { CoreClient } from '../core-client/core-client.ts';
import { LiveResponse } from '../jobs/live-response.ts';
import { frameEvent, HEARTBEAT } from '../jobs/sse.ts';
import type { AnswerBudget } from '../plugins/answer-budget.ts';
import { isId } from '../plugins/authenticate.ts';
import { publicError, toCoreError } from '../plugins/public-error.ts';
import { isBehind, LineIds } from './line-ids.ts';
import type { LogQuery } from './log-query.ts';
import { logQuery } from './log-query.ts';

/** How often it looks for more, and how often a log without news sends a comment, in milliseconds. */
const LOOK_MS = 500;
const HEARTBEAT_MS = 15_000;
/** Lines of a page, the most that the contract has. */
const LINES_MAX = 1_000;
/** About the bytes of a line's record without its text. */
const RECORD_BYTES = 120;
/** Where the last lines are looked for, in bytes from the end; then in four times as many, up to all that is kept. */
const LOOKED_BYTES = 65_536;
const LOOKED_FACTOR = 4;

/** What it needs. */
export interface WorkerLogParts {
  core: Pick<CoreClient, 'machines'>;
  answers: AnswerBudget;
  clock: Clock;
  logger: Logger;
}

/** Reads the page that begins there. */
type Read = (offset: number) => Promise<JobLogPage>;

/** Lines to begin with, and where to go on. */
interface Beginning {
  lines: readonly JobLogLine[];
  page: JobLogPage;
}

/** The route. Query: see log-query.ts. */
export function workerLog(parts: WorkerLogParts): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  return async (request, reply) => {
    const { endpointId, workerId } = request.params as { endpointId: string; workerId: string };
    if (!isId(endpointId)) throw new CoreError('ENDPOINT_NOT_FOUND', 'There is no such endpoint.');
    if (!isId(workerId)) throw new CoreError('NOT_FOUND', 'There is no such worker.');
    const query = logQuery(request, parts.clock.nowMs());
    const { apiKey } = request.caller;
    let release = (): void => undefined;
    const read: Read = async (offset) => {
      // What was read before has been written by now.
      release();
      release = () => undefined;
      const asked = { workerId, endpointId, tailBytes: 0, job: { jobId: '', attempt: 0, offset, limit: LINES_MAX } };
      const held = await parts.answers.hold(request, reply, {
        read: async () => pageOf(await parts.core.machines.call((client) => client.getWorkerLog, asked, { apiKey, repeatable: true })),
        bytesOf: ({ lines }) => lines.reduce((bytes, { text }) => bytes + text.length + RECORD_BYTES, 0),
      });
      ({ release } = held);
      return held.answer;
    };
    // Before the headers, so that an unknown worker is a plain 404.
    const beginning = query.tail === undefined ? await begin(read) : await lastLines(read, query.tail);
    return follow(parts, reply, { query, read, beginning });
  };
}

function pageOf({ job }: { job?: JobLogPage | undefined }): JobLogPage {
  if (!job) throw new CoreError('UNAVAILABLE', 'The agent of this worker does not tell its lines: it is of an earlier release.');
  return job;
}

async function begin(read: Read): Promise<Beginning> {
  const page = await read(0);
  return { lines: page.lines, page };
}

/** The last lines and the end of the log, without reading all of it. */
async function lastLines(read: Read, tail: number): Promise<Beginning> {
  // Not the end itself, which may be amid a line.
  if (tail === 0) return { lines: [], page: (await lastLines(read, 1)).page };
  const end = await read(Number.MAX_SAFE_INTEGER);
  for (let looked = LOOKED_BYTES; ; looked *= LOOKED_FACTOR) {
    const from = Math.max(end.offset - looked, 0);
    let page = await read(from);
    // It may begin amid a line.
    let lines = from > 0 && !page.cut ? page.lines.slice(1) : page.lines;
    while (page.more && page.offset < end.offset) {
      page = await read(page.offset);
      lines = [...lines, ...page.lines].slice(-tail);
    }
    if (lines.length >= tail || from === 0 || looked >= WORKER_LOG_BYTES_MAX) return { lines: lines.slice(-tail), page };
  }
}

async function follow(
  { clock }: WorkerLogParts, reply: FastifyReply, { query, read, beginning }: { query: LogQuery; read: Read; beginning: Beginning },
): Promise<FastifyReply> {
  const live = new LiveResponse(reply);
  const gone = new AbortController();
  live.whenGone(() => gone.abort());
  live.start('text/event-stream; charset=utf-8');
  const ids = new LineIds();
  let { page } = beginning;
  let { lines } = beginning;
  let toldAtMs = clock.monotonicMs();
  try {
    while (!live.closed) {
      for (const line of query.source === 'system' ? [] : lines) {
        const id = ids.next(line.time!);
        if (isBehind(line.time!, id, query)) continue;
        await live.write(frameEvent({ id, data: JSON.stringify({ source: 'container', line: line.text, ts: line.time!.toISOString() }) }));
        toldAtMs = clock.monotonicMs();
      }
      if (page.over && !page.more) break;
      if (clock.monotonicMs() - toldAtMs >= HEARTBEAT_MS) {
        await live.write(HEARTBEAT);
        toldAtMs = clock.monotonicMs();
      }
      if (!page.more) await delay(clock, LOOK_MS, gone.signal);
      if (live.closed) break;
      page = await readAgain(read, page);
      lines = page.lines;
    }
  } catch (error) {
    // Clients take every event for a line, whatever it is called; a comment is for people.
    await live.write(`: ${publicError(toCoreError(error)).text}\n\n`);
  }
  live.end();
  return reply;
}

/** Nothing more for now while core or the machine has too much to do, or is away for a moment. */
async function readAgain(read: Read, page: JobLogPage): Promise<JobLogPage> {
  try {
    return await read(page.offset);
  } catch (error) {
    const { reason } = toCoreError(error);
    if (reason === 'RATE_LIMITED' || reason === 'UNAVAILABLE') return { ...page, lines: [], more: false, over: false };
    throw error;
  }
}
