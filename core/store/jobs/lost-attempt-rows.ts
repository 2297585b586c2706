/**
 * History of a job's lost attempts. The end of their worker may be reported before, after, or together with the loss.
 * It is read from the worker's row while the row exists, and copied into the history when the row is deleted.
 */

import type { JobKey } from '../../domain/jobs/job.ts';
import type { LostAttempt } from '../../domain/reports/explanation.ts';
import type { Fragment, Sql, Statement } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';

/** Number of a job's latest attempts that are kept in its history. */
const LOST_KEPT = 20;
const CAUSE_LENGTH_MAX = 1_000;

/**
 * Adds the attempts of `moved` (core/store/jobs/outcome-side-effects.ts) that must be kept to the history, as further
 * WITH items (starting with a comma).
 */
export function remembered(sql: Sql): Fragment {
  return sql`, remembered AS (
      INSERT INTO lost_attempt (endpoint_id, job_id, attempt, worker_id, machine_id, cause, started_at, exit_code,
        worker_reason)
      SELECT m.endpoint_id, m.id, m.attempt, m.worker_id, m.machine_id, left(m.error, ${CAUSE_LENGTH_MAX}::int),
        (SELECT b.started_at FROM ${before(sql)}),
        (SELECT w.exit_code FROM worker w WHERE w.id = ANY(ARRAY[m.worker_id])),
        coalesce((SELECT w.reason FROM worker w WHERE w.id = ANY(ARRAY[m.worker_id])
          AND w.state IN ('UNHEALTHY', 'STOPPED')), '')
      FROM moved m WHERE m.remembered = 'ALWAYS' OR (m.remembered = 'IF_TRIED_AGAIN' AND m.state = 'IN_QUEUE')
      ON CONFLICT DO NOTHING
    ), ${forgotten(sql, sql`m.remembered <> ''`)}`;
}

/**
 * Adds ended attempts of user-retried jobs in `moved` to the history, as WITH items. Lost attempts are there already.
 * The condition that they have ended is written so that no index of ended jobs is used: a plan with it would read all
 * ended jobs of the endpoint for each.
 */
export function rememberedOfUser(sql: Sql): Fragment {
  return sql`remembered AS (
      INSERT INTO lost_attempt (endpoint_id, job_id, attempt, worker_id, machine_id, cause, started_at, lost_at)
      SELECT b.endpoint_id, b.id, b.attempt, b.worker_id, coalesce(b.machine_id, ''),
        coalesce((SELECT left(o.error, ${CAUSE_LENGTH_MAX}::int) FROM job_output o
          WHERE o.endpoint_id = ANY(ARRAY[b.endpoint_id]) AND o.job_id = b.id), ''),
        b.started_at, b.finished_at
      FROM moved m CROSS JOIN LATERAL (SELECT b.* FROM ${before(sql)}) b WHERE num_nulls(b.worker_id, b.finished_at) = 0
      ON CONFLICT DO NOTHING
    ), ${forgotten(sql, sql`true`)}`;
}

/**
 * Returns the previous version of job `m` from the statement's snapshot. No row if another statement changed it
 * concurrently.
 */
function before(sql: Sql): Fragment {
  return sql`job b WHERE b.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND b.id = m.id AND b.attempt = m.attempt`;
}

function forgotten(sql: Sql, which: Fragment): Fragment {
  return sql`forgotten AS (
      DELETE FROM lost_attempt l USING moved m
      WHERE ${which} AND l.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND l.job_id = m.id
        AND l.attempt <= m.attempt - ${LOST_KEPT}::int
    )`;
}

/** Deletes ended workers, and stores in the history how they ended. */
export async function deleteEnded(statement: Statement, workerIds: readonly string[]): Promise<void> {
  if (workerIds.length === 0) return;
  await statement`
    WITH gone AS (DELETE FROM worker WHERE id = ANY(string_to_array(${workerIds.join()}, ',')) RETURNING id, exit_code,
      reason)
    UPDATE lost_attempt l SET exit_code = g.exit_code, worker_reason = g.reason FROM gone g
    WHERE l.worker_id = g.id AND l.worker_reason = '' AND l.exit_code IS NULL`;
}

/** Deletes the history of jobs that are being deleted. */
export async function forgetAttempts(sql: Sql, jobs: readonly { endpoint_id: string; id: string }[]): Promise<void> {
  if (jobs.length === 0) return;
  await sql`
    DELETE FROM lost_attempt l USING unnest(${textArray(jobs.map((job) => job.endpoint_id))}::text[],
      ${textArray(jobs.map((job) => job.id))}::text[])
      AS g(endpoint_id, id) WHERE l.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND l.job_id = g.id`;
}

/** Returns the history, latest first. */
export async function readLostAttempts(sql: Sql, { endpointId, jobId }: JobKey): Promise<LostAttempt[]> {
  const rows = await sql<
    (Omit<LostAttempt, 'startedAt' | 'lostAt'> & { startedAtMs: number | null; lostAtMs: number })[]
  >`
    SELECT l.attempt, l.worker_id AS "workerId", coalesce(m.name, l.machine_id) AS machine, l.cause,
      coalesce(l.exit_code, w.exit_code) AS "exitCode",
      coalesce(nullif(l.worker_reason, ''), w.reason, '') AS reason,
      (extract(epoch FROM l.started_at) * 1000)::bigint AS "startedAtMs",
      (extract(epoch FROM l.lost_at) * 1000)::bigint AS "lostAtMs"
    FROM lost_attempt l LEFT JOIN machine m ON m.id = l.machine_id LEFT JOIN worker w ON w.id = l.worker_id
      AND w.state IN ('UNHEALTHY', 'STOPPED')
    WHERE l.endpoint_id = ${endpointId} AND l.job_id = ${jobId} ORDER BY l.attempt DESC`;
  return rows.map(({ startedAtMs, lostAtMs, ...row }) => ({
    ...row,
    startedAt: startedAtMs === null ? undefined : new Date(startedAtMs),
    lostAt: new Date(lostAtMs),
  }));
}
