/** Pages between the contract and the stores, and the handler of calls that answer one. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { Logger } from '@slipway/kit/log/logger';
import type { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { ListView, PageKey, PageRequest } from '../../store/sql/page.ts';
import type { PageBudget } from './page-budget.ts';
import { keyOf, statusOf } from './unary.ts';

/** Most entries of a page, and how many it has unless it says so. */
export const PAGE_SIZE_MAX = 1_000;

export interface ListParts {
  budget: PageBudget;
  logger: Logger;
}

/** How a request names a page. */
export interface PagedMessage {
  pageSize?: number | undefined;
  pageToken?: string | undefined;
  view?: ListView | undefined;
}

/** Characters of a search or a filter, and how many filters a list has. */
const SEARCH_LENGTH_MAX = 200;
const FILTERS_MAX = 10;
const TOKEN_LENGTH_MAX = 8_192;

/**
 * Which page is meant. `own`: how the list is ordered unless the request says otherwise; default: oldest first.
 * INVALID_REQUEST: a bad size, a search or a filter that is too long, or a token that no page of a list in this order
 * gave.
 */
export function pageRequestOf(message: PagedMessage, own = ''): PageRequest {
  const { pageToken = '', view } = message;
  const orderBy = view?.orderBy || (own === '' && view?.descending ? 'created' : own);
  const wanted = { search: searchOf(view), orderBy, descending: view?.descending ?? false, filters: filtersOf(view) };
  const after =
    pageToken === '' ? undefined : orderBy === '' ? keyFromToken(pageToken) : placeFromToken(pageToken, wanted);
  return { size: pageSizeOf(message), after, view: wanted };
}

/** Returns the searched text. INVALID_REQUEST: too long. */
export function searchOf(view: ListView | undefined): string {
  const search = view?.search.trim() ?? '';
  if (search.length > SEARCH_LENGTH_MAX || search.includes('\0'))
    throw invalid(`view.search must have at most ${SEARCH_LENGTH_MAX} characters and no NUL`);
  return search;
}

/** Returns the values that fields must have. INVALID_REQUEST: too many, or too long. */
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
 * What is looked for in a log, which stands in its own order, and what fields must be. INVALID_REQUEST: another order
 * is asked for.
 */
export function logViewOf(view: ListView | undefined): { search: string; filters: Readonly<Record<string, string>> } {
  if (view && (view.orderBy !== '' || view.descending))
    throw invalid('view.order_by and view.descending must be empty: this list stands in its own order');
  return { search: searchOf(view), filters: filtersOf(view) };
}

/** Most entries of the page. INVALID_REQUEST: out of range. */
function pageSizeOf({ pageSize = 0 }: PagedMessage): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX)
    throw invalid(`page_size is ${pageSize}, but must be from 1 to ${PAGE_SIZE_MAX}`);
  return pageSize || PAGE_SIZE_MAX;
}

/** A page token that no page of the list gave. */
function badToken(): DomainError {
  return invalid('page_token is none that a page of this list gave; leave it out to start at the beginning');
}

/** Names the page after an entry; empty: there is none. `page` is the request that gave it. */
export function tokenOf(next: PageKey | undefined, page?: PageRequest): string {
  if (!next) return '';
  const { orderBy = '', descending = false } = page?.view ?? {};
  const cursor =
    orderBy === '' ? `${next.at} ${next.id}` : JSON.stringify([orderBy, descending, next.value ?? '', next.id]);
  return Buffer.from(cursor).toString('base64url');
}

/** Names the page after a job of a list of jobs; empty: there is none. */
export function positionToken(position: number | undefined): string {
  return position === undefined ? '' : Buffer.from(`${position}`).toString('base64url');
}

/** Where that page begins; `undefined` if at the beginning. INVALID_REQUEST: a token that no page gave. */
export function positionFromToken(token: string): number | undefined {
  if (token === '') return undefined;
  const text = /^[\w-]{1,32}$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  if (!/^\d{1,15}$/.test(text)) throw badToken();
  return Number(text);
}

/** A token of a list in another order is not valid in this one. */
function placeFromToken(token: string, { orderBy, descending }: ListView): PageKey {
  const text =
    token.length <= TOKEN_LENGTH_MAX && /^[\w-]+$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  let cursor: unknown;
  try {
    cursor = JSON.parse(text);
  } catch {
    throw badToken();
  }
  const [by, turn, value, id] = Array.isArray(cursor) ? (cursor as unknown[]) : [];
  if (
    by !== orderBy ||
    turn !== descending ||
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
 * Makes a handler of a function that answers a page. It calls `enter` with the account before it reads: then it waits
 * for capacity, which is given back when the answer has left or the caller has gone.
 */
export function listing<Request, Response>(
  { budget, logger }: ListParts,
  handle: (request: Request, apiKey: string, enter: (accountId: string) => Promise<void>) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    // The event comes when the stream closes, however it ends.
    const goesOn = ((call.request as PagedMessage).pageToken ?? '') !== '';
    const enter = (accountId: string): Promise<void> =>
      budget.enter(accountId, goesOn, (gone) => {
        if (call.cancelled) gone();
        else call.once('cancelled', gone);
      });
    handle(call.request, keyOf(call.metadata), enter).then(
      (response) => done(null, response),
      (error: unknown) => done(statusOf(error, call, logger)),
    );
  };
}
