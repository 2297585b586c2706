/** Pages of lists in REST v2: the newest first, by an opaque cursor that stands for one operation and its query. */

import type { ListView } from '@slipway/proto/gen/slipway/v1/list_view';
import { CoreError } from '@slipway/proto/wire/reason';
import type { TObject, TSchema } from 'typebox';
import { Type } from 'typebox';
import type { Call } from './operation.ts';
import { misfit } from './rejections.ts';

const PAGE_SIZE_MAX = 1_000;
const CURSOR_LENGTH_MAX = 1_024;

/** Members of the query of every paged list. */
export const PageQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: CURSOR_LENGTH_MAX,
      description: 'nextCursor of the page before. Default: the first page.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
      default: PAGE_SIZE_MAX,
      description: 'Most entries of the page. It may have fewer.',
    }),
  ),
});

const Pagination = Type.Object(
  {
    nextCursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Names the next page. Null: there is none.',
    }),
    hasNextPage: Type.Boolean({ description: 'There is another page.' }),
  },
  { additionalProperties: false },
);

/** Where a list goes on. */
export interface Pagination {
  nextCursor: string | null;
  hasNextPage: boolean;
}

/** The only page of a list that comes whole. */
export const LAST_PAGE: Pagination = { nextCursor: null, hasNextPage: false };

/** Returns the shape of a list's answer. */
export function listOf(key: string, entry: TSchema, description: string): TObject {
  return Type.Object({ [key]: Type.Array(entry, { description }), pagination: Pagination });
}

/** A page as core is asked for it. */
export interface PageOfCore {
  pageSize: number;
  pageToken: string;
  view: ListView;
}

const NEWEST_FIRST: ListView = { search: '', orderBy: 'created', descending: true, filters: {} };

/**
 * Reads a page of core's and answers it. `operationId` and the query bind the cursor. 422: the cursor is broken, or is
 * another list's.
 */
export async function answerPage<Response extends { nextPageToken: string }>(
  call: Call<{ cursor?: string; limit?: number }, unknown>,
  operationId: string,
  key: string,
  source: { read(page: PageOfCore): Promise<Response>; present(response: Response): unknown[] | Promise<unknown[]> },
): Promise<object> {
  const { cursor, limit, ...others } = call.query;
  const scope = JSON.stringify([operationId, Object.entries(others).toSorted()]);
  const pageToken = cursor === undefined ? '' : tokenOf(cursor, scope);
  const page = { pageSize: limit ?? PAGE_SIZE_MAX, pageToken, view: NEWEST_FIRST };
  const response = await source.read(page).catch((error: unknown) => {
    throw error instanceof CoreError && pageToken !== '' && error.message.startsWith('page_token')
      ? badCursor()
      : error;
  });
  return { [key]: await source.present(response), pagination: paginationOf(response.nextPageToken, scope) };
}

function paginationOf(token: string, scope: string): Pagination {
  return token === ''
    ? LAST_PAGE
    : { nextCursor: Buffer.from(JSON.stringify([scope, token])).toString('base64url'), hasNextPage: true };
}

function tokenOf(cursor: string, scope: string): string {
  try {
    const [of, token] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (of === scope && typeof token === 'string' && token !== '') return token;
  } catch {
    // Said below.
  }
  throw badCursor();
}

function badCursor(): Error {
  return misfit(['query.cursor: must be the nextCursor of a page of this very list; leave it out to begin']);
}
