/**
 * Pages of lists. A page starts after the key of the previous page's last entry, so concurrent inserts and deletes
 * shift nothing. It is bounded in entries and bytes: sizes decide its entries before they are read.
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
/**
 * Bytes of an entry that count once. Bytes beyond are long texts, mostly environments: core decrypts, parses and
 * encodes those of a page at a stretch, and the facade does as much. They count many times, so that no page keeps
 * either of them from other requests for long.
 */
const ENTRY_BYTES = 4 * 1024;
export const TEXT_WEIGHT = 16;

/** Cursor: the position of an entry in a list. */
export interface PageKey {
  /** Creation time in microseconds since 1970. In a list with another order, `value` is the sort key as text. */
  at: number;
  id: string;
  value?: string | undefined;
}

/** Selection and order of a list. */
export interface ListView {
  /** Only entries with this text in a searchable column, ignoring case. Empty: all. */
  search: string;
  /** Empty: oldest first. */
  orderBy: string;
  descending: boolean;
  /** Only entries with these values, by field name. */
  filters: Readonly<Record<string, string>>;
}

/** A sort key: text or an integer, never null. */
interface Sort {
  of: SQL;
  as: 'text' | 'bigint';
}

/** A request for a page. */
export interface PageRequest {
  /** Most entries. */
  size: number;
  /** Cursor: the last entry of the previous page, `undefined` for the first page. */
  after: PageKey | undefined;
  /** Default: all, oldest first. */
  view?: ListView | undefined;
}

/** A page, and the cursor of the next one, `undefined` if there is none. */
export interface Page<Entry> {
  entries: Entry[];
  next: PageKey | undefined;
}

/** A candidate for a page. */
interface Candidate extends PageKey {
  bytes: number;
}

/** Columns of a list. `bytes`: the variable part of an entry's size. */
export interface PageRows {
  from: SQL | PgTable;
  id: Column;
  createdAt: Column;
  bytes: SQL;
  where: SQL | undefined;
  /** Searchable columns besides the id. */
  searched?: readonly (SQL | Column)[];
  /** Sort keys by name; `created` always exists. */
  sorts?: Readonly<Record<string, Sort>>;
  /** Filters by field name. */
  filters?: Filters;
}

/** Characters of a text that sorting compares. The cursor holds as many of the last entry. */
const ORDERED_MAX = 200;

/** Sorts by words, ignoring case. */
export function byText(of: SQL | Column): Sort {
  return { of: sql`left(lower(coalesce(${of}, '')), ${ORDERED_MAX}::int)`, as: 'text' };
}

/** Sorts by a number. */
export function byNumber(of: SQL | Column): Sort {
  return { of: sql`coalesce(${of}, 0)::bigint`, as: 'bigint' };
}

/** Sorts by a time. Entries without one come first. */
export function byTime(of: SQL | Column): Sort {
  return { of: sql`coalesce((extract(epoch FROM ${of}) * 1000000)::bigint, 0)`, as: 'bigint' };
}

/**
 * Returns candidates for a page, in order, one more than its size if there are so many. Throws INVALID_REQUEST if the
 * list cannot be ordered as requested.
 */
export async function candidates(
  { db }: Pick<Database, 'db'>,
  listed: PageRows,
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
  const behind = after && beyond(listed, after, sort, turn === desc);
  const rows = await db.execute<{ id: string; at: number; bytes: number; value: string | null }>(sql`
    SELECT ${id} AS id, (extract(epoch FROM ${createdAt}) * 1000000)::bigint AS at, (${bytes})::bigint AS bytes,
      ${value} AS value
    FROM ${from}
    WHERE ${and(where, found, ...filterConditions(filters, view?.filters ?? {}), behind) ?? sql`true`}
    ORDER BY ${turn(by)}, ${turn(id)} LIMIT ${size + 1}`);
  return rows.map((row) => ({
    id: row.id,
    at: Number(row.at),
    bytes: Number(row.bytes),
    ...(row.value === null ? {} : { value: row.value }),
  }));
}

function sortOf({ createdAt, sorts = {} }: PageRows, orderBy: string): Sort {
  const known: Readonly<Record<string, Sort>> = { created: byTime(createdAt), ...sorts };
  return orderOf(orderBy, known);
}

/** Returns the order that a word names. INVALID_REQUEST: unknown word. */
export function orderOf<Order>(orderBy: string, known: Readonly<Record<string, Order>>): Order {
  if (Object.hasOwn(known, orderBy)) return known[orderBy]!;
  throw invalid(
    `order_by is ${JSON.stringify(orderBy.slice(0, 64))}, but this list is ordered by ` +
      `${Object.keys(known).toSorted().join(', ')}`,
  );
}

/** Returns the condition for entries after an entry. */
function beyond({ id, createdAt }: PageRows, after: PageKey, sort: Sort | undefined, isDescending: boolean): SQL {
  if (!sort)
    return sql`(${createdAt}, ${id}) > (timestamptz 'epoch' + ${after.at}::bigint * interval '1 microsecond',
      ${after.id})`;
  const { value = '' } = after;
  // A forged token gets a clear error.
  if (sort.as === 'bigint' && !/^-?\d{1,18}$/.test(value)) throw invalidCursor();
  const last = sort.as === 'bigint' ? sql`${value}::text::bigint` : sql`${value}::text`;
  return isDescending
    ? sql`(${sort.of}, ${id}) < (${last}, ${after.id})`
    : sql`(${sort.of}, ${id}) > (${last}, ${after.id})`;
}

/** Returns the error for a forged page token. */
export function invalidCursor(): DomainError {
  return invalid('page_token is none that a page of this list gave; leave it out to begin');
}

/** Returns the candidates that fit the page. At least one if there is any: an entry may be larger than a page. */
export function cut(found: readonly Candidate[], size: number): { ids: string[]; next: PageKey | undefined } {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(found.length, size) && bytes < PAGE_BYTES_MAX) {
    bytes += weightOf(found[count]!.bytes);
    count += 1;
  }
  const last = found[count - 1];
  return {
    ids: found.slice(0, count).map(({ id }) => id),
    next: last && count < found.length ? { at: last.at, id: last.id, value: last.value } : undefined,
  };
}

function weightOf(bytes: number): number {
  return bytes + Math.max(0, bytes - ENTRY_BYTES) * (TEXT_WEIGHT - 1);
}

/** Returns a page of a list. `read`: reads entries by their ids, in any order. */
export async function readPage<Entry extends { id: string }>(
  database: Pick<Database, 'db'>,
  listed: PageRows,
  page: PageRequest,
  read: (ids: string[]) => Promise<Entry[]>,
): Promise<Page<Entry>> {
  const { ids, next } = cut(await candidates(database, listed, page), page.size);
  return { entries: await inOrder(ids, read), next };
}

/** Returns entries in the order of their ids. Deleted entries are left out. */
export async function inOrder<Entry extends { id: string }>(
  ids: string[],
  read: (ids: string[]) => Promise<Entry[]>,
): Promise<Entry[]> {
  if (ids.length === 0) return [];
  const found = new Map((await read(ids)).map((entry) => [entry.id, entry]));
  return ids.flatMap((id) => found.get(id) ?? []);
}
