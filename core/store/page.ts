/**
 * Pages of lists. A page is found by the key of the last entry of the one before, so what comes and goes meanwhile shifts nothing, and is bounded
 * in entries and in bytes: which entries it has is decided by their sizes, before any of them is read.
 */
import { and, asc, sql } from '../../drizzle/orm.ts';
import type { Column, SQL } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import type { Database } from './database.ts';

/** Bytes of a page, beyond which only its last entry may go. */
export const PAGE_BYTES_MAX = 2 * 1024 * 1024;

/** The place of an entry in a list, oldest first. */
export interface PageKey {
  /** When it was made, in microseconds since 1970. */
  at: number;
  id: string;
}

/** Which page. */
export interface PageRequest {
  /** Most entries. */
  size: number;
  /** The last entry of the page before. Undefined: the first page. */
  after: PageKey | undefined;
}

/** A page, and the key that the next one is asked for with; undefined: there is none. */
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
}

/** Entries that the page may have, in order, one more than its size where there are so many. */
export async function candidates({ db }: Pick<Database, 'db'>, listed: Listed, { size, after }: PageRequest): Promise<Candidate[]> {
  const { from, id, createdAt, bytes, where } = listed;
  const key = sql`${createdAt}, ${id}`;
  const later = after && sql`(${key}) > (timestamptz 'epoch' + ${after.at}::bigint * interval '1 microsecond', ${after.id})`;
  const rows = await db.execute<{ id: string; at: number; bytes: number }>(sql`
    SELECT ${id} AS id, (extract(epoch FROM ${createdAt}) * 1000000)::bigint AS at, (${bytes})::bigint AS bytes
    FROM ${from} WHERE ${and(where, later) ?? sql`true`} ORDER BY ${asc(createdAt)}, ${asc(id)} LIMIT ${size + 1}`);
  return rows.map((row) => ({ id: row.id, at: Number(row.at), bytes: Number(row.bytes) }));
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
  return { ids: found.slice(0, count).map(({ id }) => id), next: last && count < found.length ? { at: last.at, id: last.id } : undefined };
}

/** One page of a list; `read` reads entries by their ids, in any order. */
export async function readPage<Entry extends { id: string }>(
  database: Pick<Database, 'db'>, listed: Listed, page: PageRequest, read: (ids: string[]) => Promise<Entry[]>,
): Promise<Page<Entry>> {
  const { ids, next } = cut(await candidates(database, listed, page), page.size);
  return { entries: await inOrder(ids, read), next };
}

/** Entries in the order of their ids. One that was deleted meanwhile is left out. */
export async function inOrder<Entry extends { id: string }>(ids: string[], read: (ids: string[]) => Promise<Entry[]>): Promise<Entry[]> {
  if (ids.length === 0) return [];
  const found = new Map((await read(ids)).map((entry) => [entry.id, entry]));
  return ids.flatMap((id) => found.get(id) ?? []);
}
