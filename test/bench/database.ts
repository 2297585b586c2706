/** The bench's own PostgreSQL: a fresh cluster in a temporary folder that flushes every commit to disk, as `npm start` has it. */
import { startPostgres } from '../helpers/throwaway-postgres.ts';

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
  return { url: url(), pid: child.pid, stop: remove };
}
