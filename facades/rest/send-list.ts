/**
 * Answers a list that core gives in pages. One page is answered as it is. A longer list is written page by page, the next one read when its
 * client has taken the one before: however long the list, the facade holds a page of it.
 */
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { eachPage } from '../../proto/wire/pages.ts';
import type { PageAsked } from '../../proto/wire/pages.ts';
import type { AnswerBudget } from '../plugins/answer-budget.ts';

/** What a page takes up as a message, as records and as text, in bytes: several times what core puts into one. */
const HELD_BYTES = 8 * 1024 * 1024;

/** A list. */
export interface ListSource<Response, Entry> {
  read(page: PageAsked): Promise<Response>;
  /** Public records of a page. */
  present(response: Response): Entry[] | Promise<Entry[]>;
}

/** What a list answers: its records, or where they are written. */
export async function sendList<Response extends { nextPageToken: string }, Entry>(
  answers: AnswerBudget, request: FastifyRequest, reply: FastifyReply, { read, present }: ListSource<Response, Entry>,
): Promise<Entry[]> {
  const bytesOf = ({ nextPageToken }: Response): number => (nextPageToken === '' ? 0 : HELD_BYTES);
  const { answer: first, pause, prolong } = await answers.hold(request, reply, { read: () => read({ pageToken: '' }), bytesOf });
  const records = await present(first);
  if (first.nextPageToken === '') return records;
  // A slow core is not an idle client, whose connection is cut.
  const readNext = async (page: PageAsked): Promise<Response> => {
    pause();
    const response = await read(page);
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
      // What was on a page may have gone meanwhile, or be filtered out.
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
