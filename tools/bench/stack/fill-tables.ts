/**
 * Fills the tables of jobs by SQL, millions of rows in a minute. Ids, times and sizes are like those that the engine
 * writes.
 */
import type { Sql } from '@slipway/core/store/sql/database';
import { INPUT } from './bench.ts';

/** Number of jobs of each kind. */
export interface Fill {
  /** COMPLETED jobs, and one in a hundred FAILED. Their results are kept for a day. */
  finished: number;
  queued: number;
  /** Finished jobs whose results have expired. */
  expired: number;
}

/** Jobs of one statement. */
const BATCH = 200_000;

/** Makes the endpoint and its jobs, and leaves the tables in the state after a vacuum. */
export async function fillTables(sql: Sql, endpointId: string, { finished, queued, expired }: Fill): Promise<void> {
  await sql`INSERT INTO account (id, name) VALUES ('account', 'account')`;
  await sql`INSERT INTO template (id, account_id, name) VALUES ('template', 'account', 'template')`;
  await sql`INSERT INTO endpoint (id, account_id, name, template_id, workers_max)
    VALUES (${endpointId}, 'account', 'endpoint', 'template', 1000)`;
  await each(expired, (count, before) =>
    finish(sql, endpointId, count, { secondsAgo: finished + expired - before, life: '-1 day' }),
  );
  await each(finished, (count, before) =>
    finish(sql, endpointId, count, { secondsAgo: finished - before, life: '1 day' }),
  );
  await each(queued, (count) => queue(sql, endpointId, count));
  await sql`INSERT INTO endpoint_tally (endpoint_id, slot, completed, queued)
    VALUES (${endpointId}, 0, ${finished + expired}, ${queued})`;
  await sql`VACUUM ANALYZE`;
  await sql`CHECKPOINT`;
}

async function each(count: number, work: (count: number, before: number) => Promise<unknown>): Promise<void> {
  for (let before = 0; before < count; before += BATCH) await work(Math.min(BATCH, count - before), before);
}

async function finish(
  sql: Sql,
  endpointId: string,
  count: number,
  { secondsAgo, life }: { secondsAgo: number; life: string },
): Promise<void> {
  await sql`
    WITH made AS (
      INSERT INTO job (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, execution_timeout_ms,
        retention_ms, submitted_at,
        started_at, finished_at, ttl_deadline_at, expires_at)
      SELECT ${endpointId}, ${jobId(sql)}, CASE WHEN i % 100 = 0 THEN 'FAILED' ELSE 'COMPLETED' END, i % 10 = 0, 1,
        'machine', 'workeraaaaaaaa', 600000,
        86400000, at, at, at, at + interval '7 days', now() + ${life}::interval + i * interval '1 microsecond'
      FROM generate_series(1, ${count}::int) AS i,
        LATERAL (SELECT now() - (${secondsAgo}::int - i) * interval '1 ms' AS at) AS times
      RETURNING id
    ), inputs AS (INSERT INTO job_input (endpoint_id, job_id, input) SELECT ${endpointId}, id,
    convert_to(${INPUT}::text, 'UTF8') FROM made)
    INSERT INTO job_output (endpoint_id, job_id, output) SELECT ${endpointId}, id, '{"ok":true}'::bytea FROM made`;
}

async function queue(sql: Sql, endpointId: string, count: number): Promise<void> {
  await sql`
    WITH made AS (
      INSERT INTO job (endpoint_id, id, state, low_priority, execution_timeout_ms, retention_ms, submitted_at,
        ttl_deadline_at, expires_at)
      SELECT ${endpointId}, ${jobId(sql)}, 'IN_QUEUE', i % 10 = 0, 600000, 1800000, now(), now() + interval '1 day',
        now() + interval '1 day'
      FROM generate_series(1, ${count}::int) AS i
      RETURNING id
    )
    INSERT INTO job_input (endpoint_id, job_id, input) SELECT ${endpointId}, id, convert_to(${INPUT}::text, 'UTF8')
      FROM made`;
}

function jobId(sql: Sql) {
  return sql`uuidv7() || '-u1'`;
}
