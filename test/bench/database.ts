/** The bench's own PostgreSQL: a fresh cluster in a temporary folder that flushes every commit to disk, as `npm start` has it. */
import { startPostgres } from '../helpers/throwaway-postgres.ts';

/** A running cluster. */
export interface Database {
  url: string;
  /** The postmaster. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts it. */
export async function startDatabase(): Promise<Database> {
  const { url, child, remove } = await startPostgres();
  return { url: url(), pid: child.pid, stop: remove };
}
