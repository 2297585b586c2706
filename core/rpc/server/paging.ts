/** Converts pages between the contract and the stores, and makes handlers of calls that return a page. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { ListView, PageKey, PageRequest } from '../../store/sql/page.ts';
import type { PageBudget } from './page-budget.ts';
import { keyOf, statusOf } from './unary.ts';

/** Most entries of a page, and the default. */
export const PAGE_SIZE_MAX = 1_000;

export interface ListParts {
  budget: PageBudget;
  clock: Pick<Clock, 'soon'>;
  logger: Logger;
}

/** Page fields of a request. */
interface PagedMessage {
  pageSize?: number | undefined;
  pageToken?: string | undefined;
  view?: ListView | undefined;
}

/** Most characters of a search or a filter, and most filters of a list. */
const SEARCH_LENGTH_MAX = 200;
const FILTERS_MAX = 10;
const TOKEN_LENGTH_MAX = 8_192;

/**
 * Converts the requested page. `own`: order of the list unless the request has another; default: oldest first. Throws
 * INVALID_REQUEST for an invalid size, a search or filter that is too long, or a token that no page of a list in this
 * order returned.
 */
export function pageRequestOf(message: PagedMessage, own = ''): PageRequest {
  const { pageToken = '', view } = message;
  const orderBy = view?.orderBy || (own === '' && view?.descending ? 'created' : own);
  const wanted = { search: searchOf(view), orderBy, descending: view?.descending ?? false, filters: filtersOf(view) };
  const parse = (token: string) => (orderBy === '' ? keyFromToken(token) : placeFromToken(token, wanted));
  const after = pageToken === '' ? undefined : parse(pageToken);
  return { size: pageSizeOf(message), after, view: wanted };
}

/** Returns the searched text. Throws INVALID_REQUEST if it is too long. */
export function searchOf(view: ListView | undefined): string {
  const search = view?.search.trim() ?? '';
  if (search.length > SEARCH_LENGTH_MAX || search.includes('\0'))
    throw invalid(`view.search must have at most ${SEARCH_LENGTH_MAX} characters and no NUL`);
  return search;
}

/** Returns the filters by field. Throws INVALID_REQUEST if there are too many, or one is too long. */
export function filtersOf(view: ListView | undefined): Readonly<Record<string, string>> {
  const filters = view?.filters ?? {};
  const values = Object.values(filters);
  if (values.length > FILTERS_MAX || values.some((value) => value.length > SEARCH_LENGTH_MAX || value.includes('\0'))) {
    throw invalid(
      `view.filters must be at most ${FILTERS_MAX}, each of at most ${SEARCH_LENGTH_MAX} characters and without NUL`,
    );
  }
  return filters;
}

/**
 * Returns the search and the filters of a log, which has a fixed order. Throws INVALID_REQUEST if another order is
 * requested.
 */
export function logViewOf(view: ListView | undefined): { search: string; filters: Readonly<Record<string, string>> } {
  if (view && (view.orderBy !== '' || view.descending))
    throw invalid('view.order_by and view.descending must be empty: this list stands in its own order');
  return { search: searchOf(view), filters: filtersOf(view) };
}

/** Returns the most entries of the page. Throws INVALID_REQUEST if it is out of range. */
function pageSizeOf({ pageSize = 0 }: PagedMessage): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalid(`page_size is ${pageSize}, but must be from 1 to ${PAGE_SIZE_MAX}`);
  return pageSize || PAGE_SIZE_MAX;
}

/** Returns the error for a page token that no page of the list returned. */
function badToken(): DomainError {
  return invalid('page_token is none that a page of this list gave; leave it out to start at the beginning');
}

/** Returns the token of the page after an entry. Empty: there is none. `page`: the request of the current page. */
export function tokenOf(next: PageKey | undefined, page?: PageRequest): string {
  if (!next) return '';
  const { orderBy = '', descending = false } = page?.view ?? {};
  const cursor =
    orderBy === '' ? `${next.at} ${next.id}` : JSON.stringify([orderBy, descending, next.value ?? '', next.id]);
  return Buffer.from(cursor).toString('base64url');
}

/** Returns the token of the page after a job in a list of jobs. Empty: there is none. */
export function positionToken(position: number | undefined): string {
  return position === undefined ? '' : Buffer.from(`${position}`).toString('base64url');
}

/**
 * Returns the position at which that page begins. `undefined`: the beginning. Throws INVALID_REQUEST for a token that
 * no page returned.
 */
export function positionFromToken(token: string): number | undefined {
  if (token === '') return undefined;
  const text = /^[\w-]{1,32}$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  if (!/^\d{1,15}$/.test(text)) throw badToken();
  return Number(text);
}

/** Returns the cursor of a token. A token of a list in another order is not valid. */
function placeFromToken(token: string, { orderBy, descending }: ListView): PageKey {
  const text =
    token.length <= TOKEN_LENGTH_MAX && /^[\w-]+$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  let cursor: unknown;
  try {
    cursor = JSON.parse(text);
  } catch {
    throw badToken();
  }
  const [by, isDescending, value, id] = Array.isArray(cursor) ? (cursor as unknown[]) : [];
  if (
    by !== orderBy ||
    isDescending !== descending ||
    typeof value !== 'string' ||
    typeof id !== 'string' ||
    `${value}${id}`.includes('\0')
  )
    throw badToken();
  return { at: 0, id, value };
}

function keyFromToken(token: string): PageKey {
  const text = /^[\w-]{1,256}$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  const [, at, id] = /^(\d{1,16}) ([\w-]{1,128})$/.exec(text) ?? [];
  if (at === undefined || id === undefined || !Number.isSafeInteger(Number(at))) {
    throw badToken();
  }
  return { at: Number(at), id };
}

/**
 * Makes a handler of a function that returns a page. The function must call `enter` with the account before it reads.
 * That waits for capacity, which is released when the response was sent or the caller disconnected.
 */
export function listing<Request, Response>(
  { budget, clock, logger }: ListParts,
  handle: (request: Request, apiKey: string, enter: (accountId: string) => Promise<void>) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    // The event comes when the stream closes, however it ends.
    const isContinued = ((call.request as PagedMessage).pageToken ?? '') !== '';
    const enter = (accountId: string): Promise<void> =>
      budget.enter(accountId, isContinued, (gone) => {
        if (call.cancelled) gone();
        else call.once('cancelled', gone);
      });
    handle(call.request, keyOf(call.metadata), enter).then(
      // A page of long texts was decrypted in this tick, and is encoded in the next one.
      (response) => clock.soon(() => done(null, response)),
      (error: unknown) => done(statusOf(error, call, logger)),
    );
  };
}
