/** Pages between the contract and the stores, and the handler of calls that answer one. */
import type { handleUnaryCall } from '@grpc/grpc-js';
import type { DomainError } from '../domain/errors.ts';
import { invalid } from '../domain/fields.ts';
import type { Logger } from '../runtime/logger.ts';
import type { PageKey, PageRequest } from '../store/page.ts';
import type { PageBudget } from './page-budget.ts';
import { keyOf, statusOf } from './unary.ts';

/** Most entries of a page, and how many it has unless it says so. */
export const PAGE_SIZE_MAX = 1_000;

/** What handlers of lists need. */
export interface ListParts {
  room: PageBudget;
  logger: Logger;
}

/** How a request names a page. */
export interface PagedMessage {
  pageSize?: number | undefined;
  pageToken?: string | undefined;
}

/** Which page is meant. INVALID_REQUEST: a bad size, or a token that no page gave. */
export function pageRequestOf(message: PagedMessage): PageRequest {
  const { pageToken = '' } = message;
  return { size: pageSizeOf(message), after: pageToken === '' ? undefined : keyFromToken(pageToken) };
}

/** Most entries of the page. INVALID_REQUEST: out of range. */
export function pageSizeOf({ pageSize = 0 }: PagedMessage): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE_MAX) throw invalid(`page_size is ${pageSize}, but must be from 1 to ${PAGE_SIZE_MAX}`);
  return pageSize || PAGE_SIZE_MAX;
}

/** A page token that no page of the list gave. */
export function badToken(): DomainError {
  return invalid('page_token is none that a page of this list gave; leave it out to start at the beginning');
}

/** Names the page after an entry; empty: there is none. */
export function tokenOf(next: PageKey | undefined): string {
  return next ? Buffer.from(`${next.at} ${next.id}`).toString('base64url') : '';
}

/** Names the page after a job of a list of jobs; empty: there is none. */
export function positionToken(position: number | undefined): string {
  return position === undefined ? '' : Buffer.from(`${position}`).toString('base64url');
}

/** Where that page begins; undefined: at the newest. INVALID_REQUEST: a token that no page gave. */
export function positionFromToken(token: string): number | undefined {
  if (token === '') return undefined;
  const text = /^[\w-]{1,32}$/.test(token) ? Buffer.from(token, 'base64url').toString() : '';
  if (!/^\d{1,15}$/.test(text)) throw badToken();
  return Number(text);
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
 * Makes a handler of a function that answers a page. It calls `enter` with the account before it reads: then it waits for room, which is given
 * back when the answer has left or the caller has gone.
 */
export function listing<Request, Response>(
  { room, logger }: ListParts, handle: (request: Request, apiKey: string, enter: (accountId: string) => Promise<void>) => Promise<Response>,
): handleUnaryCall<Request, Response> {
  return (call, done) => {
    // The event comes when the stream closes, however it ends.
    const enter = (accountId: string): Promise<void> => room.enter(accountId, (gone) => {
      if (call.cancelled) gone();
      else call.once('cancelled', gone);
    });
    handle(call.request, keyOf(call.metadata), enter)
      .then((response) => done(null, response), (error: unknown) => done(statusOf(error, call.getPath(), logger)));
  };
}
