/**
 * Sends a list that core returns in pages. A single page is sent as it is. A longer list is written page by page; the
 * next page is read when the client has read the previous one. However long the list is, the facade holds one page of
 * it.
 */
import { Readable } from 'node:stream';
import type { Clock } from '@slipway/kit/time/clock';
import type { PageRequest } from '@slipway/proto/wire/pages';
import { eachPage } from '@slipway/proto/wire/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallOptions } from '../core-client/service-calls.ts';
import type { AnswerBudget, HeldAnswer } from '../plugins/limits/answer-budget.ts';
import type { ListQueue } from './list-queue.ts';

/** Memory of a page as message, records and text, in bytes. Several times the size of core's largest page. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * Timeout for the next page of a list that has begun, in milliseconds. The page may have to wait for those of others,
 * and the response can only be cut off.
 */
const NEXT_PAGE_MS = 60_000;

/** Dependencies of sending lists. */
export interface ListBudget {
  answers: AnswerBudget;
  queue: ListQueue;
  /** Waits between two pages of an account, of which the first took that long. */
  rest(accountId: string, tookMs: number): Promise<void>;
  clock: Pick<Clock, 'monotonicMs' | 'soon'>;
}

/** Source of a list. */
interface ListSource<Response, Entry> {
  read(page: PageRequest, options: CallOptions): Promise<Response>;
  /** Returns the public records of a page. */
  present(response: Response): Entry[] | Promise<Entry[]>;
}

/**
 * Returns the records, or the stream to which they are written. Throws TooManyRequests if the account has too many long
 * lists in progress.
 */
export async function sendList<Response extends { nextPageToken: string }, Entry>(
  budget: ListBudget,
  request: FastifyRequest,
  reply: FastifyReply,
  source: ListSource<Response, Entry>,
): Promise<Entry[]> {
  const { present } = source;
  const options = { apiKey: request.caller.apiKey, repeatable: true };
  const begun = await begin(budget, request, reply, { ...source, options });
  const { answer: first, pause, prolong } = 'answer' in begun ? begun : await (await begun.again)();
  const records = await present(first);
  if (first.nextPageToken === '') return records;
  const { rest, clock } = budget;
  let sinceMs = clock.monotonicMs();
  let tookMs = 0;
  // A slow core must not count as an idle client, whose connection is closed.
  const readNext = async (page: PageRequest): Promise<Response> => {
    pause();
    await rest(request.caller.accountId, tookMs);
    sinceMs = clock.monotonicMs();
    const response = await source.read(page, { ...options, tryMs: NEXT_PAGE_MS });
    prolong();
    // A page of long texts was decoded in this tick, and is written in the next one.
    await new Promise<void>((resolve) => {
      clock.soon(resolve);
    });
    return response;
  };
  async function* texts(): AsyncGenerator<string> {
    yield '[';
    let text = inner(reply, records);
    yield text;
    for await (const response of eachPage(readNext, first.nextPageToken)) {
      const comma = text === '' ? '' : ',';
      const more = inner(reply, await present(response));
      tookMs = clock.monotonicMs() - sinceMs;
      // Records of a page may have been deleted or be filtered out.
      if (more === '') continue;
      yield comma + more;
      text = more;
    }
    yield ']';
  }
  // Not in object mode, which would read sixteen pages ahead.
  const body = Readable.from(texts(), { objectMode: false, highWaterMark: 1 });
  return reply.type('application/json; charset=utf-8').send(body) as never;
}

/** Returns the records as text, without the surrounding brackets. */
function inner(reply: FastifyReply, records: unknown[]): string {
  return (reply.serialize(records) as string).slice(1, -1);
}

/**
 * Returns the first page, with its turn if others follow. If it has to wait for the turn, returns a promise of a
 * function that reads the page again, so that the page is not kept in memory.
 */
async function begin<Response extends { nextPageToken: string }>(
  { answers, queue }: ListBudget,
  request: FastifyRequest,
  reply: FastifyReply,
  { read, options }: BegunSource<Response>,
): Promise<HeldAnswer<Response> | { again: Promise<() => Promise<HeldAnswer<Response>>> }> {
  const bytesOf = ({ nextPageToken }: Response): number => (nextPageToken === '' ? 0 : HELD_BYTES);
  const hold = (): Promise<HeldAnswer<Response>> =>
    answers.hold(request, reply, { read: () => read({ pageToken: '' }, options), bytesOf });
  const held = await hold();
  if (held.answer.nextPageToken === '') return held;
  const entry = queue.enter(request.caller.accountId, reply);
  if (entry.isNow) return held;
  held.release();
  return { again: entry.begun.then(() => hold) };
}

interface BegunSource<Response> extends Pick<ListSource<Response, unknown>, 'read'> {
  options: CallOptions;
}
