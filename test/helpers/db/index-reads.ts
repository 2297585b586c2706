/** How many index entries and rows of some tables were read: what a plan costs, in no unit of time. */
import type { Database } from '@slipway/core/store/sql/database';

/** Of the tables of jobs, since the database was made. */
export function jobEntriesRead(database: Pick<Database, 'sql' | 'hot'>): Promise<number> {
  return entriesRead(database, 'job%');
}

/** Of the tables whose names are like this, since the database was made. */
export async function entriesRead({ sql, hot }: Pick<Database, 'sql' | 'hot'>, tables: string): Promise<number> {
  // Each connection keeps its counts to itself until it is told to tell them.
  for (const pool of [hot, sql])
    await Promise.all(Array.from({ length: 8 }, () => pool`SELECT pg_stat_force_next_flush() FROM pg_sleep(0.01)`));
  const [row] = await sql<{ n: number }[]>`
    SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE ${tables})
      + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE ${tables}))::bigint AS n`;
  return row!.n;
}
