/**
 * The bench's own PostgreSQL: a fresh cluster in a temporary folder. It flushes every commit to disk, as with `npm
 * start`, and has written as much as a cluster that has been up for a while.
 */

import { startPostgres } from '@slipway/test/helpers/db/throwaway-postgres';
import postgres from 'postgres';

/** A running cluster. */
export interface Database {
  url: string;
  /** Process id of the postmaster. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts the cluster. `settings`: further settings of the server. */
export async function startDatabase(settings: Record<string, string> = {}): Promise<Database> {
  const { url, child, remove } = await startPostgres([], settings);
  await fillSegments(url());
  return { url: url(), pid: child.pid, stop: remove };
}

/**
 * Bytes of write-ahead log to write: max_wal_size, plus the amount by which it is exceeded before the second
 * checkpoint.
 */
const FILLED = 1.2e9;
const MESSAGE = 1e6;

/**
 * Writes log segments in advance. Existing segments are reused. A new one is first filled with zeros, which takes 50 ms
 * in which nothing commits, neither ours nor a peer's.
 */
async function fillSegments(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  for (let filled = 0; filled < FILLED; filled += 16 * MESSAGE) {
    await sql`SELECT pg_logical_emit_message(false, 'fill', repeat('x', ${MESSAGE})) FROM generate_series(1, 16)`;
  }
  await sql`CHECKPOINT`;
  await sql.end();
}
