/** Deletes jobs with all their rows, as part of a transaction. */
import type { Fragment, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import { queueCountersAdded } from './endpoint-counters.ts';
import { forgetAttempts } from './lost-attempt-rows.ts';

/** A deleted job. */
export interface DeletedJobs {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** Machine that was running it, if it was IN_PROGRESS. */
  machineId: string | undefined;
  /** Whether the deleted job was in a final state. */
  isFinal: boolean;
}

/** A deleted job, as the statements return it. */
export interface DeletedRow {
  endpoint_id: string;
  id: string;
  attempt: number;
  position: number;
  live: boolean;
  is_final: boolean;
  /** True if attempts of it may have been lost. */
  tried: boolean;
  has_webhook: boolean;
  machine_id: string | null;
  expires_us: number;
}

/**
 * Deletes the jobs that `due` selects and locks, with all their rows, and returns them. Uses two statements: the
 * first does not see rows that were written while it waited for a job's lock. The second does, and as the jobs are
 * deleted by then, nothing is written after it.
 */
export async function removeJobs(tx: Sql, due: Fragment): Promise<DeletedRow[]> {
  const rows = await tx<DeletedRow[]>`
      WITH due AS MATERIALIZED (${due}), gone AS (
      DELETE FROM job j USING due d WHERE j.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND j.id = d.id
      RETURNING j.endpoint_id, j.id, j.attempt, j.position, j.state, j.low_priority, j.has_webhook,
        j.expires_at > now() AS live,
        (extract(epoch FROM j.expires_at) * 1000000)::bigint AS expires_us,
        CASE WHEN j.state = 'IN_PROGRESS' THEN j.machine_id END AS machine_id
      ), ${queueCountersAdded(tx, -1, tx`SELECT endpoint_id, low_priority FROM gone WHERE state = 'IN_QUEUE'`)}
      SELECT endpoint_id, id, attempt, position, live, state NOT IN ('IN_QUEUE', 'IN_PROGRESS') AS is_final,
        attempt > 1 OR (attempt = 1 AND state <> 'COMPLETED') AS tried, has_webhook, machine_id, expires_us
      FROM gone`;
  if (rows.length > 0) await removePayloads(tx, rows);
  await removeWebhookResults(
    tx,
    rows.filter((row) => row.has_webhook),
  );
  await forgetAttempts(
    tx,
    rows.filter((row) => row.tried),
  );
  return rows;
}

async function removePayloads(tx: Sql, rows: readonly DeletedRow[]): Promise<void> {
  const described = await tx<{ endpoint_id: string; job_id: string }[]>`
    WITH gone AS MATERIALIZED (
      SELECT * FROM unnest(${textArray(rows.map((row) => row.endpoint_id))}::text[],
        ${textArray(rows.map((row) => row.id))}::text[])
        AS g(endpoint_id, id)
    ), inputs AS (
      DELETE FROM job_input t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
      RETURNING t.endpoint_id, t.job_id, t.metadata IS NOT NULL AS described
    ), outputs AS (
      DELETE FROM job_output t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    ), chunks AS (
      DELETE FROM job_chunk t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    ), cursors AS (
      DELETE FROM stream_cursor t USING gone g WHERE t.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND t.job_id = g.id
    )
    SELECT endpoint_id, job_id FROM inputs WHERE described`;
  await removeMetadata(tx, described);
}

/** Deletes the pairs of jobs. Does nothing for no jobs. */
async function removeMetadata(tx: Sql, jobs: readonly { endpoint_id: string; job_id: string }[]): Promise<void> {
  if (jobs.length === 0) return;
  await tx`
    DELETE FROM job_metadata m
    USING unnest(${textArray(jobs.map((job) => job.endpoint_id))}::text[],
      ${textArray(jobs.map((job) => job.job_id))}::text[]) AS g(endpoint_id, id)
    WHERE m.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND m.job_id = g.id`;
}

/** Deletes results of webhook calls. Pending calls stay: a call does not read the job again. */
async function removeWebhookResults(tx: Sql, rows: readonly DeletedRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx`
    DELETE FROM webhook_result r
    USING unnest(${textArray(rows.map((row) => row.endpoint_id))}::text[],
      ${textArray(rows.map((row) => row.id))}::text[]) AS g(endpoint_id, id)
    WHERE r.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND r.job_id = g.id`;
}

/** Returns the jobs of deleted rows. */
export function deletedJobs(rows: readonly DeletedRow[]): DeletedJobs[] {
  return rows.map((row) => ({
    endpointId: row.endpoint_id,
    jobId: row.id,
    attempt: row.attempt,
    machineId: row.machine_id ?? undefined,
    isFinal: row.is_final,
  }));
}
