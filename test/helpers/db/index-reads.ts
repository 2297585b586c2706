/** Counts index entries and rows read from some tables: the cost of a plan, independent of time. */
import type { Database } from '@slipway/core/store/sql/database';

/** Returns the entries read from the job tables since the database was created. */
export function jobEntriesRead(database: Pick<Database, 'sql' | 'hot'>): Promise<number> {
  return entriesRead(database, 'job%');
}

/** Returns the entries read since the database was created, from tables whose names match the LIKE pattern. */
export async function entriesRead({ sql, hot }: Pick<Database, 'sql' | 'hot'>, tables: string): Promise<number> {
  // Each connection holds its statistics back until it is made to flush them.
  for (const pool of [hot, sql])
    await Promise.all(Array.from({ length: 8 }, () => pool`SELECT pg_stat_force_next_flush() FROM pg_sleep(0.01)`));
  const [row] = await sql<{ n: number }[]>`
    SELECT ((SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE ${tables})
      + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname LIKE ${tables}))::bigint AS n`;
  return row!.n;
}
