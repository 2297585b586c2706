/**
 * Vacuum settings of the tables that change with every job. They are here and not in a migration, because drizzle's
 * schema cannot express them. Setting them again changes nothing.
 */
import type { Sql } from './database.ts';

/** Tables whose rows live for seconds to minutes. */
const HOT_TABLES = [
  'job',
  'job_input',
  'job_metadata',
  'job_output',
  'job_chunk',
  'stream_cursor',
  'webhook_delivery',
  'webhook_result',
  'endpoint_tally',
];

/** Few rows, each updated by every batch. Free space on their pages keeps updates out of the indexes. */
const COUNTING_TABLE = 'endpoint_tally';

/**
 * Lets vacuum run without pauses after 1 % of a table (at least 2,000 rows) has changed, instead of 20 %: every claim
 * reads the dead rows at the head of a queue.
 */
export async function tuneHotTables(sql: Sql): Promise<void> {
  for (const table of HOT_TABLES) {
    await sql`ALTER TABLE ${sql(table)} SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 2000,
      autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.05,
      autovacuum_vacuum_cost_delay = 0)`;
  }
  await sql`ALTER TABLE ${sql(COUNTING_TABLE)} SET (fillfactor = 20)`;
}
