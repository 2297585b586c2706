/**
 * Adds and removes indexes of tables that may have millions of rows. This runs before the migration that names them,
 * without blocking a replica of the previous release that still serves; the migration then finds it done. A database
 * without the table gets the indexes from its migrations.
 */
import type { Logger } from '@slipway/kit/log/logger';
import type { Sql } from './database.ts';

const LARGE_INDEXES: Record<string, string> = {
  job_running_since_idx: "job (endpoint_id, started_at) WHERE state = 'IN_PROGRESS'",
  job_machine_since_idx: "job (machine_id, started_at) WHERE state = 'IN_PROGRESS'",
  job_finished_idx: 'job (endpoint_id, state, position) WHERE finished_at IS NOT NULL',
  webhook_result_given_up_idx: 'webhook_result (endpoint_id, ended_at) WHERE NOT delivered',
};

/** Indexes that were replaced by others. An earlier release that still knows them uses the new ones. */
const REPLACED = ['job_running_idx', 'job_machine_idx'];

/** Builds missing indexes, and completes indexes of an interrupted start. Waits for open transactions. */
export async function buildLargeIndexes(sql: Sql, logger: Logger): Promise<void> {
  for (const [name, definition] of Object.entries(LARGE_INDEXES)) {
    const [row] = await sql<{ wanted: boolean }[]>`
      SELECT to_regclass(${definition.split(' ')[0]!}) IS NOT NULL
        AND NOT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass(${name}) AND indisvalid) AS wanted`;
    if (!row!.wanted) continue;
    logger.info({ index: name }, 'building an index');
    await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql(name)}`;
    await sql.unsafe(`CREATE INDEX CONCURRENTLY ${name} ON ${definition}`);
  }
  for (const name of REPLACED) await sql`DROP INDEX CONCURRENTLY IF EXISTS ${sql(name)}`;
}
