/** The history of a job's lost attempts: written with the loss, completed when its worker's end is known, and read for explanations. */
import type { LostAttempt } from '../domain/explanation.ts';
import type { JobKey } from '../domain/job.ts';
import type { Sql } from './database.ts';
import { textArray } from './pack.ts';

/** Attempts of one job that are remembered: those of its last so many numbers. */
export const LOST_KEPT = 20;
const CAUSE_LENGTH_MAX = 1_000;

/** How a worker ended. */
export interface WorkerEndFacts {
  workerId: string;
  exitCode: number | null;
  reason: string;
}

/** Remembers the attempts among `moved` (core/store/consequences.ts) that are to be, as further WITH items (starting with a comma). */
export function remembered(sql: Sql) {
  return sql`, remembered AS (
      INSERT INTO lost_attempt (endpoint_id, job_id, attempt, worker_id, machine_id, cause, exit_code, worker_reason)
      SELECT m.endpoint_id, m.id, m.attempt, m.worker_id, m.machine_id, left(m.error, ${CAUSE_LENGTH_MAX}::int),
        (SELECT w.exit_code FROM worker w WHERE w.id = ANY(ARRAY[m.worker_id])),
        coalesce((SELECT w.reason FROM worker w WHERE w.id = ANY(ARRAY[m.worker_id]) AND w.state IN ('UNHEALTHY', 'STOPPED')), '')
      FROM moved m WHERE m.remembered = 'ALWAYS' OR (m.remembered = 'IF_TRIED_AGAIN' AND m.state = 'IN_QUEUE')
      ON CONFLICT DO NOTHING
    ), forgotten AS (
      DELETE FROM lost_attempt l USING moved m
      WHERE m.remembered <> '' AND l.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND l.job_id = m.id AND l.attempt <= m.attempt - ${LOST_KEPT}::int
    )`;
}

/** Completes what is remembered of attempts whose workers have ended: an agent tells of a worker's end after what became of its attempts. */
export async function rememberEnds(sql: Sql, ends: readonly WorkerEndFacts[]): Promise<void> {
  if (ends.length === 0) return;
  await sql`
    UPDATE lost_attempt l SET exit_code = e.exit_code, worker_reason = e.reason
    FROM unnest(${ends.map((end) => end.workerId)}::text[], ${ends.map((end) => end.exitCode)}::int[], ${ends.map((end) => end.reason)}::text[])
      AS e (id, exit_code, reason)
    WHERE l.worker_id = e.id AND l.worker_reason = '' AND l.exit_code IS NULL`;
}

/** What belongs to jobs that are being deleted. */
export async function forgetAttempts(sql: Sql, jobs: readonly { endpoint_id: string; id: string }[]): Promise<void> {
  if (jobs.length === 0) return;
  await sql`
    DELETE FROM lost_attempt l USING unnest(${textArray(jobs.map((job) => job.endpoint_id))}::text[], ${textArray(jobs.map((job) => job.id))}::text[])
      AS g(endpoint_id, id) WHERE l.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND l.job_id = g.id`;
}

/** The latest first. */
export async function readLostAttempts(sql: Sql, { endpointId, jobId }: JobKey): Promise<LostAttempt[]> {
  const rows = await sql<(Omit<LostAttempt, 'lostAt'> & { lostAtMs: number })[]>`
    SELECT l.attempt, l.worker_id AS "workerId", coalesce(m.name, l.machine_id) AS machine, l.cause, l.exit_code AS "exitCode", l.worker_reason AS reason,
      (extract(epoch FROM l.lost_at) * 1000)::bigint AS "lostAtMs"
    FROM lost_attempt l LEFT JOIN machine m ON m.id = l.machine_id WHERE l.endpoint_id = ${endpointId} AND l.job_id = ${jobId} ORDER BY l.attempt DESC`;
  return rows.map(({ lostAtMs, ...row }) => ({ ...row, lostAt: new Date(lostAtMs) }));
}
