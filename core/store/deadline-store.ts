/** Jobs that ran too long, and jobs whose life is over. Bounded batches; several replicas share the work without waiting for each other. */
import { TIME_OUT_TEXT } from '../domain/attempt-outcome.ts';
import type { Job } from '../domain/job.ts';
import type { Fragment, Sql } from './database.ts';
import { consequences } from './consequences.ts';
import { textArray } from './pack.ts';
import { isLive, jobColumns, jobFromRow } from './rows.ts';
import type { JobRow } from './rows.ts';

/** A job that a duty changed, and the machine that held its attempt. */
export interface Ended {
  job: Job;
  machineId: string;
}

/** A job that is no more. */
export interface Deleted {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** The machine that was running it, when it was IN_PROGRESS. */
  machineId: string | undefined;
}

interface DeletedRow {
  endpoint_id: string;
  id: string;
  attempt: number;
  position: number;
  live: boolean;
  machine_id: string | null;
}

/** Moves up to `limit` jobs whose execution deadline has passed to TIMED_OUT. */
export async function timeOutJobs(sql: Sql, limit: number): Promise<Ended[]> {
  const rows = await sql<(JobRow & { machine_id: string })[]>`
    WITH due AS MATERIALIZED (
      SELECT endpoint_id, id FROM job WHERE state = 'IN_PROGRESS' AND execution_deadline_at <= now()
      ORDER BY execution_deadline_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE job j SET state = 'TIMED_OUT', finished_at = now(), execution_deadline_at = NULL, claim_id = NULL,
        expires_at = least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms')
      FROM due d WHERE j.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND j.id = d.id AND ${isLive(sql)}
      RETURNING ${jobColumns(sql)}, j.machine_id, j.has_webhook, false AS counted, NULL::bytea AS output,
        replace(${TIME_OUT_TEXT}::text, '{ms}', j.execution_timeout_ms::text) AS error
    ) ${consequences(sql)}
    SELECT endpoint_id, id, state, attempt, retries, worker_id, submitted_ms, finished_ms, delay_ms, execution_ms, error, machine_id FROM moved`;
  return rows.map((row) => ({ job: jobFromRow(row), machineId: row.machine_id }));
}

/** Milliseconds until the next execution deadline when there is one within the next `withinMs`, else undefined. */
export async function nextDeadlineMs(sql: Sql, withinMs: number): Promise<number | undefined> {
  const [row] = await sql<{ ms: number | null }[]>`
    SELECT (extract(epoch FROM min(execution_deadline_at) - clock_timestamp()) * 1000)::float8 AS ms FROM job
    WHERE state = 'IN_PROGRESS' AND execution_deadline_at <= now() + ${withinMs}::int * interval '1 ms'`;
  return row?.ms ?? undefined;
}

/** Deletes up to `limit` jobs that have expired, in whatever state, with all that belongs to them. */
export async function reapExpired(sql: Sql, limit: number): Promise<Deleted[]> {
  return deleted(await remove(sql, sql`
    SELECT endpoint_id, id FROM job WHERE expires_at <= now() ORDER BY expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED`));
}

/** Deletes up to `limit` queued jobs of one priority with positions in (after, upTo]. */
export async function purgeQueued(sql: Sql, endpointId: string, lowPriority: boolean, range: { after: number; upTo: number }, limit: number) {
  const rows = await remove(sql, sql`
    SELECT endpoint_id, id FROM job
    WHERE endpoint_id = ${endpointId} AND low_priority = ${lowPriority} AND state = 'IN_QUEUE'
      AND position > ${range.after} AND position <= ${range.upTo}
    ORDER BY position LIMIT ${limit}::int FOR UPDATE SKIP LOCKED`);
  return { deleted: deleted(rows), live: rows.filter((row) => row.live).length, last: Math.max(range.after, ...rows.map((row) => row.position)) };
}

/** A position that no job queued so far has passed. */
export async function lastPosition(sql: Sql): Promise<number> {
  const [row] = await sql<{ last: number }[]>`SELECT last_value AS last FROM job_position_seq`;
  return row?.last ?? 0;
}

/** Deletes up to `limit` jobs of an endpoint in any state. */
export async function deleteJobsOf(sql: Sql, endpointId: string, limit: number): Promise<Deleted[]> {
  return deleted(await remove(sql, sql`
    SELECT endpoint_id, id FROM job WHERE endpoint_id = ${endpointId} ORDER BY id LIMIT ${limit}::int FOR UPDATE`));
}

/**
 * Up to `limit` endpoints that are gone although some of their jobs are not. One look into the primary key for each endpoint that has jobs:
 * cheap enough to ask from time to time, too dear for every second. No job is ever there before its endpoint.
 */
export async function endpointsGone(sql: Sql, limit: number): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    WITH RECURSIVE owners AS (
      (SELECT endpoint_id AS id FROM job ORDER BY endpoint_id LIMIT 1)
      UNION ALL
      SELECT (SELECT j.endpoint_id FROM job j WHERE j.endpoint_id > o.id ORDER BY j.endpoint_id LIMIT 1) FROM owners o WHERE o.id IS NOT NULL
    )
    SELECT o.id FROM owners o WHERE o.id IS NOT NULL AND NOT EXISTS (SELECT FROM endpoint e WHERE e.id = ANY(ARRAY[o.id])) LIMIT ${limit}::int`;
  return rows.map((row) => row.id);
}

/** Deletes up to `limit` remembered Idempotency-Keys that have expired; one whose job got a longer life stays for that. Number of both. */
export async function reapIdempotencyKeys(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    WITH due AS MATERIALIZED (
      SELECT k.endpoint_id, k.key_hash,
        (SELECT j.expires_at FROM job j WHERE j.endpoint_id = k.endpoint_id AND j.id = k.job_id AND ${isLive(sql)}) AS until
      FROM idempotency_key k WHERE k.expires_at <= now() ORDER BY k.expires_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
    ), kept AS (
      UPDATE idempotency_key k SET expires_at = d.until FROM due d
      WHERE d.until IS NOT NULL AND k.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND k.key_hash = d.key_hash
    ), gone AS (
      DELETE FROM idempotency_key k USING due d
      WHERE d.until IS NULL AND k.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND k.key_hash = d.key_hash
    )
    SELECT count(*) AS count FROM due`;
  return row!.count;
}

/**
 * Deletes the jobs that `due` picks and locks, with all that belongs to them, and returns them. In two statements, because the first does not
 * see what was written while it waited for a job; the second does, and as the jobs are gone by then, nothing is written after it.
 */
async function remove(sql: Sql, due: Fragment): Promise<DeletedRow[]> {
  return await sql.begin(async (transaction): Promise<DeletedRow[]> => {
    const tx = transaction as unknown as Sql;
    const rows = await tx<DeletedRow[]>`
      WITH due AS MATERIALIZED (${due})
      DELETE FROM job j USING due d WHERE j.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND j.id = d.id
      RETURNING j.endpoint_id, j.id, j.attempt, j.position, j.expires_at > now() AS live,
        CASE WHEN j.state = 'IN_PROGRESS' THEN j.machine_id END AS machine_id`;
    if (rows.length > 0) await removePayloads(tx, rows);
    return rows;
  });
}

async function removePayloads(tx: Sql, rows: readonly DeletedRow[]): Promise<void> {
  await tx`
    WITH gone AS MATERIALIZED (
      SELECT * FROM unnest(${textArray(rows.map((row) => row.endpoint_id))}::text[], ${textArray(rows.map((row) => row.id))}::text[])
        AS g(endpoint_id, id)
    ), inputs AS (
      DELETE FROM job_input t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    ), outputs AS (
      DELETE FROM job_output t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    ), chunks AS (
      DELETE FROM job_chunk t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    )
    DELETE FROM stream_cursor t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id`;
}

function deleted(rows: readonly DeletedRow[]): Deleted[] {
  return rows.map((row) => ({ endpointId: row.endpoint_id, jobId: row.id, attempt: row.attempt, machineId: row.machine_id ?? undefined }));
}
