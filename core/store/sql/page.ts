/**
 * Pages of lists. A page is found by the key of the last entry of the one before, so what comes and goes meanwhile
 * shifts nothing, and is bounded in entries and in bytes: which entries it has is decided by their sizes, before any of
 * them is read.
 */

import { and, asc, desc, sql } from '@slipway/drizzle/orm';
import type { Column, SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { DomainError } from '../../domain/settings/errors.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { Database } from './database.ts';
import type { Filters } from './list-filter.ts';
import { filterConditions } from './list-filter.ts';

/** Bytes of a page, beyond which only its last entry may go. */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;

/** The place of an entry in a list. */
export interface PageKey {
  /** When it was made, in microseconds since 1970; in a list by something else `value` says its place, as text. */
  at: number;
  id: string;
  value?: string | undefined;
}

/** Which entries of a list, and by what. */
export interface ListView {
  /** Only those with this text in what can be searched, whatever its case. Empty: all. */
  search: string;
  /** Empty: oldest first. */
  orderBy: string;
  descending: boolean;
  /** Only those whose fields have these values, by the names of fields. */
  filters: Readonly<Record<string, string>>;
}

/** What a list can be ordered by: text or a whole number, never null. */
export interface Sort {
  of: SQL;
  as: 'text' | 'bigint';
}

/** Which page. */
export interface PageRequest {
  /** Most entries. */
  size: number;
  /** The last entry of the page before. `undefined` if the first page. */
  after: PageKey | undefined;
  /** Default: all, oldest first. */
  view?: ListView | undefined;
}

/** A page, and the key that the next one is asked for with; `undefined` if there is none. */
export interface Page<Entry> {
  entries: Entry[];
  next: PageKey | undefined;
}

/** An entry that may be on a page. */
export interface Candidate extends PageKey {
  bytes: number;
}

/** What a list is made of. `bytes`: the size of an entry, as far as it varies. */
export interface Listed {
  from: SQL | PgTable;
  id: Column;
  createdAt: Column;
  bytes: SQL;
  where: SQL | undefined;
  /** Columns that a search looks into; besides the id. */
  searched?: readonly (SQL | Column)[];
  /** By name; `created` is there always. */
  sorts?: Readonly<Record<string, Sort>>;
  /** What it can be filtered by. */
  filters?: Filters;
}

/** Characters that an order by words looks at: the last ones of a page are in the token of the next. */
const ORDERED_MAX = 200;

/** Order by words, whatever their case. */
export function byText(of: SQL | Column): Sort {
  return { of: sql`left(lower(coalesce(${of}, '')), ${ORDERED_MAX}::int)`, as: 'text' };
}

/** Order by a number. */
export function byNumber(of: SQL | Column): Sort {
  return { of: sql`coalesce(${of}, 0)::bigint`, as: 'bigint' };
}

/** Order by a moment; without one first. */
export function byTime(of: SQL | Column): Sort {
  return { of: sql`coalesce((extract(epoch FROM ${of}) * 1000000)::bigint, 0)`, as: 'bigint' };
}

/**
 * Entries that the page may have, in order, one more than its size where there are so many. INVALID_REQUEST: nothing
 * that the list can be ordered by.
 */
export async function candidates(
  { db }: Pick<Database, 'db'>,
  listed: Listed,
  { size, after, view }: PageRequest,
): Promise<Candidate[]> {
  const { from, id, createdAt, bytes, where, searched = [], filters = {} } = listed;
  const sort = view && view.orderBy !== '' ? sortOf(listed, view.orderBy) : undefined;
  const found =
    view && view.search !== ''
      ? sql`strpos(lower(concat_ws(' ', ${sql.join([id, ...searched], sql`, `)})), lower(${view.search})) > 0`
      : undefined;
  const turn = sort && view!.descending ? desc : asc;
  const by = sort?.of ?? createdAt;
  const value = sort ? sql`(${by})::text` : sql`NULL`;
  const rows = await db.execute<{ id: string; at: number; bytes: number; value: string | null }>(sql`
    SELECT ${id} AS id, (extract(epoch FROM ${createdAt}) * 1000000)::bigint AS at, (${bytes})::bigint AS bytes, ${value} AS value
    FROM ${from} WHERE ${and(where, found, ...filterConditions(filters, view?.filters ?? {}), after && beyond(listed, after, sort, turn === desc)) ?? sql`true`}
    ORDER BY ${turn(by)}, ${turn(id)} LIMIT ${size + 1}`);
  return rows.map((row) => ({
    id: row.id,
    at: Number(row.at),
    bytes: Number(row.bytes),
    ...(row.value === null ? {} : { value: row.value }),
  }));
}

function sortOf({ createdAt, sorts = {} }: Listed, orderBy: string): Sort {
  const known: Readonly<Record<string, Sort>> = { created: byTime(createdAt), ...sorts };
  return orderOf(orderBy, known);
}

/** What a word orders a list by, of all that it can be ordered by. INVALID_REQUEST: by nothing. */
export function orderOf<Order>(orderBy: string, known: Readonly<Record<string, Order>>): Order {
  if (Object.hasOwn(known, orderBy)) return known[orderBy]!;
  throw invalid(
    `order_by is ${JSON.stringify(orderBy.slice(0, 64))}, but this list is ordered by ${Object.keys(known).toSorted().join(', ')}`,
  );
}

/** What comes after an entry. */
function beyond({ id, createdAt }: Listed, after: PageKey, sort: Sort | undefined, isDescending: boolean): SQL {
  if (!sort)
    return sql`(${createdAt}, ${id}) > (timestamptz 'epoch' + ${after.at}::bigint * interval '1 microsecond', ${after.id})`;
  const { value = '' } = after;
  // Whoever makes up a token is told so.
  if (sort.as === 'bigint' && !/^-?\d{1,18}$/.test(value)) throw noCursor();
  const last = sort.as === 'bigint' ? sql`${value}::text::bigint` : sql`${value}::text`;
  return isDescending
    ? sql`(${sort.of}, ${id}) < (${last}, ${after.id})`
    : sql`(${sort.of}, ${id}) > (${last}, ${after.id})`;
}

/** A page token that was made up. */
export function noCursor(): DomainError {
  return invalid('page_token is none that a page of this list gave; leave it out to begin');
}

/** The candidates that are on the page. At least one where there is any: an entry may be larger than a page. */
export function cut(found: readonly Candidate[], size: number): { ids: string[]; next: PageKey | undefined } {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(found.length, size) && bytes < PAGE_BYTES_MAX) {
    bytes += found[count]!.bytes;
    count += 1;
  }
  const last = found[count - 1];
  return {
    ids: found.slice(0, count).map(({ id }) => id),
    next: last && count < found.length ? { at: last.at, id: last.id, value: last.value } : undefined,
  };
}

/** One page of a list; `read` reads entries by their ids, in any order. */
export async function readPage<Entry extends { id: string }>(
  database: Pick<Database, 'db'>,
  listed: Listed,
  page: PageRequest,
  read: (ids: string[]) => Promise<Entry[]>,
): Promise<Page<Entry>> {
  const { ids, next } = cut(await candidates(database, listed, page), page.size);
  return { entries: await inOrder(ids, read), next };
}

/** Entries in the order of their ids. One that was deleted meanwhile is left out. */
export async function inOrder<Entry extends { id: string }>(
  ids: string[],
  read: (ids: string[]) => Promise<Entry[]>,
): Promise<Entry[]> {
  if (ids.length === 0) return [];
  const found = new Map((await read(ids)).map((entry) => [entry.id, entry]));
  return ids.flatMap((id) => found.get(id) ?? []);
}
