/** Reads the query of a list: page, search, filters and order. Core applies them. */

import type { ListView as View } from '@slipway/proto/gen/slipway/v1/list_view';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyRequest } from 'fastify';

/** Default rows of a page, and most rows that may be requested, for downloads. */
const PAGE_SIZE = 50;
const PAGE_SIZE_MAX = 1_000;
const FILTER = 'filter.';

/** Page request, in the form of every paged request of the contract. */
export interface PageQuery {
  pageSize: number;
  pageToken: string;
  view: View;
}

/**
 * Reads which page is asked for. Query: `page` (the `next` of the page before), `size`, `search`, `order`,
 * `descending`, and `filter.` with the name of a field. Throws INVALID_REQUEST.
 */
export function pageAsked(request: FastifyRequest): PageQuery {
  const size = textOf(request, 'size');
  if (!/^\d{0,4}$/.test(size) || Number(size) > PAGE_SIZE_MAX)
    throw new CoreError('INVALID_REQUEST', `"size" must be from 1 to ${PAGE_SIZE_MAX}.`);
  const view = {
    search: textOf(request, 'search'),
    orderBy: textOf(request, 'order'),
    descending: textOf(request, 'descending') === 'true',
    filters: filtersOf(request),
  };
  return { pageSize: Number(size) || PAGE_SIZE, pageToken: textOf(request, 'page'), view };
}

/** Returns the filters by field. Empty ones are left out. */
function filtersOf(request: FastifyRequest): Record<string, string> {
  const names = Object.keys(request.query as object).filter((name) => name.startsWith(FILTER));
  return Object.fromEntries(
    names.map((name) => [name.slice(FILTER.length), textOf(request, name)]).filter(([, text]) => text !== ''),
  );
}

/** Returns the options of a call for a list. */
export function optionsOf(request: FastifyRequest) {
  return { apiKey: request.caller.apiKey, repeatable: true };
}

/** Returns a parameter of the query. Empty if it is absent. */
export function textOf(request: FastifyRequest, name: string): string {
  const { [name]: text = '' } = request.query as Record<string, unknown>;
  if (typeof text !== 'string') throw new CoreError('INVALID_REQUEST', `"${name}" must be given once.`);
  return text;
}

/** Returns the whole number of minutes in the query. Throws INVALID_REQUEST. */
export function minutesOf(request: FastifyRequest): number {
  const minutes = textOf(request, 'minutes');
  if (!/^[1-9]\d{0,3}$/.test(minutes))
    throw new CoreError('INVALID_REQUEST', '"minutes" must be a whole number of them.');
  return Number(minutes);
}

/** Returns a time in ISO 8601 for a row. */
export function iso(time: Date | undefined): string {
  return time?.toISOString() ?? '';
}
