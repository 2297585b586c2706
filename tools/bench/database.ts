/**
 * The bench's own PostgreSQL: a fresh cluster in a temporary folder that flushes every commit to disk, as `npm start`
 * has it, and has written as much before as one that has been up for a while.
 */

import { startPostgres } from '@slipway/test/helpers/db/throwaway-postgres';
import postgres from 'postgres';

/** A running cluster. */
export interface Database {
  url: string;
  /** The postmaster. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts it, with further settings of the server if wanted. */
export async function startDatabase(settings: Record<string, string> = {}): Promise<Database> {
  const { url, child, remove } = await startPostgres([], settings);
  await fillSegments(url());
  return { url: url(), pid: child.pid, stop: remove };
}

/** Of the write-ahead log, in bytes: max_wal_size and what it is passed by before the second checkpoint. */
const FILLED = 1.2e9;
const MESSAGE = 1e6;

/**
 * Segments of the log that are there are used again; a new one is filled with zeros first, 50 ms in which nobody
 * commits, ours or a peer.
 */
async function fillSegments(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  for (let filled = 0; filled < FILLED; filled += 16 * MESSAGE) {
    await sql`SELECT pg_logical_emit_message(false, 'fill', repeat('x', ${MESSAGE})) FROM generate_series(1, 16)`;
  }
  await sql`CHECKPOINT`;
  await sql.end();
}
