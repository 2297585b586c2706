/**
 * Answers a list that core gives in pages. One page is answered as it is. A longer list is written page by page, the
 * next one read when its client has taken the one before: however long the list, the facade holds a page of it.
 */
import { Readable } from 'node:stream';
import type { PageRequest } from '@slipway/proto/wire/pages';
import { eachPage } from '@slipway/proto/wire/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallOptions } from '../core-client/service-calls.ts';
import type { AnswerBudget, HeldAnswer } from '../plugins/limits/answer-budget.ts';
import type { ListQueue } from './list-queue.ts';

/** Memory of a page as message, records and text, in bytes: several times the size of core's largest page. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * Time for the next page of a list that has begun, in milliseconds: it waits for pages of others, and its client can
 * only be cut off.
 */
const NEXT_PAGE_MS = 60_000;

/** Dependencies of sending lists. */
export interface ListBudget {
  answers: AnswerBudget;
  turns: ListQueue;
}

/** A list. */
export interface ListSource<Response, Entry> {
  read(page: PageRequest, options: CallOptions): Promise<Response>;
  /** Public records of a page. */
  present(response: Response): Entry[] | Promise<Entry[]>;
}

/**
 * What a list answers: its records, or where they are written. TooManyRequests: so many long lists of the account are
 * under way.
 */
export async function sendList<Response extends { nextPageToken: string }, Entry>(
  room: ListBudget,
  request: FastifyRequest,
  reply: FastifyReply,
  source: ListSource<Response, Entry>,
): Promise<Entry[]> {
  const { present } = source;
  const options = { apiKey: request.caller.apiKey, repeatable: true };
  const begun = await begin(room, request, reply, { ...source, options });
  const { answer: first, pause, prolong } = 'answer' in begun ? begun : await (await begun.again)();
  const records = await present(first);
  if (first.nextPageToken === '') return records;
  // A slow core is not an idle client, whose connection is cut.
  const readNext = async (page: PageRequest): Promise<Response> => {
    pause();
    const response = await source.read(page, { ...options, tryMs: NEXT_PAGE_MS });
    prolong();
    return response;
  };
  async function* texts(): AsyncGenerator<string> {
    yield '[';
    let text = inner(reply, records);
    yield text;
    for await (const response of eachPage(readNext, first.nextPageToken)) {
      const comma = text === '' ? '' : ',';
      const more = inner(reply, await present(response));
      // Records of a page may have been deleted meanwhile, or be filtered out.
      if (more === '') continue;
      yield comma + more;
      text = more;
    }
    yield ']';
  }
  // Not as objects: sixteen pages would be read ahead.
  const body = Readable.from(texts(), { objectMode: false, highWaterMark: 1 });
  return reply.type('application/json; charset=utf-8').send(body) as never;
}

/** Records as text, without the brackets around them. */
function inner(reply: FastifyReply, records: unknown[]): string {
  return (reply.serialize(records) as string).slice(1, -1);
}

/**
 * The first page, with its turn where others follow; or what reads it again once there is a turn: apart, so that
 * nothing keeps the page meanwhile.
 */
async function begin<Response extends { nextPageToken: string }>(
  { answers, turns }: ListBudget,
  request: FastifyRequest,
  reply: FastifyReply,
  { read, options }: BegunSource<Response>,
): Promise<HeldAnswer<Response> | { again: Promise<() => Promise<HeldAnswer<Response>>> }> {
  const bytesOf = ({ nextPageToken }: Response): number => (nextPageToken === '' ? 0 : HELD_BYTES);
  const hold = (): Promise<HeldAnswer<Response>> =>
    answers.hold(request, reply, { read: () => read({ pageToken: '' }, options), bytesOf });
  const held = await hold();
  if (held.answer.nextPageToken === '') return held;
  const turn = turns.enter(request.caller.accountId, reply);
  if (turn.isNow) return held;
  held.release();
  return { again: turn.begun.then(() => hold) };
}

interface BegunSource<Response> extends Pick<ListSource<Response, unknown>, 'read'> {
  options: CallOptions;
}
