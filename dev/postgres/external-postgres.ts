/** Checks a PostgreSQL that the user names, before anything is started on it. */
import postgres from 'postgres';
import { UsageError } from '../options.ts';

/** Oldest release that the schema works on, in PostgreSQL's own numbering. */
const VERSION_MIN = 150_000;
const CONNECT_SECONDS_MAX = 5;

/** Throws UsageError if the database cannot be reached with these credentials or is too old. */
export async function checkDatabase(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, connect_timeout: CONNECT_SECONDS_MAX, onnotice: () => undefined });
  try {
    const [row] = await sql`show server_version_num`;
    const version = Number(row?.server_version_num);
    const release = Math.floor(version / 10_000);
    if (version < VERSION_MIN)
      throw new UsageError(`The PostgreSQL of --database-url is release ${release}, but must be 15 or newer.`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { message, code } = error as NodeJS.ErrnoException;
    throw new UsageError(`The PostgreSQL of --database-url cannot be used: ${message || code}`);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
