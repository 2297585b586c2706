/** Pages of lists in REST v2: newest first, with an opaque cursor that is valid for one operation and its query. */

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
      description: 'nextCursor of the previous page. Default: the first page.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
      default: PAGE_SIZE_MAX,
      description: 'Most entries on the page. A page may have fewer.',
    }),
  ),
});

const Pagination = Type.Object(
  {
    nextCursor: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      description: 'Cursor of the next page. Null: there is no next page.',
    }),
    hasNextPage: Type.Boolean({ description: 'True if there is a next page.' }),
  },
  { additionalProperties: false },
);

/** Position at which a list continues. */
interface Pagination {
  nextCursor: string | null;
  hasNextPage: boolean;
}

/** Pagination of a list that is returned whole. */
export const LAST_PAGE: Pagination = { nextCursor: null, hasNextPage: false };

/** Returns the shape of a list response. */
export function listOf(key: string, entry: TSchema, description: string): TObject {
  return Type.Object({ [key]: Type.Array(entry, { description }), pagination: Pagination });
}

/** Page request to core. */
interface PageOfCore {
  pageSize: number;
  pageToken: string;
  view: ListView;
}

const NEWEST_FIRST: ListView = { search: '', orderBy: 'created', descending: true, filters: {} };

/**
 * Reads a page from core and sends it. `operationId` and the query bind the cursor. Throws 422 if the cursor is
 * malformed or belongs to another list.
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
    // Rejected below.
  }
  throw badCursor();
}

function badCursor(): Error {
  return misfit(['query.cursor: must be the nextCursor of a page of this very list; leave it out to begin']);
}
