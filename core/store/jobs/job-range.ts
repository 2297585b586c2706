/**
 * Finds the range of positions of jobs submitted in a period. No index has the submission time (job-list.ts), but
 * positions are assigned in that order, so bisection finds the range with one index lookup per step. The range may be
 * slightly too large, never too small, so each job is checked again.
 */
import type { Fragment, Sql } from '../sql/database.ts';

/** Jobs submitted at or after `fromMs` and before `untilMs`, in milliseconds since 1970. */
export interface SubmittedRange {
  fromMs?: number | undefined;
  untilMs?: number | undefined;
}

/** Positions from `low` to before `high`. */
export interface JobRange {
  low: number;
  high: number;
}

/**
 * Allowed disorder in milliseconds: a transaction that began earlier may take its position later, and the clock may
 * be set back.
 */
const DISORDER_MS = 1_000;
/** Most jobs that a step reads to find one with a submission time. */
const SCANNED_MAX = 200;

/**
 * Returns the condition that the job still has the position of its submission. A retried job has a later one, and at
 * least one earlier attempt.
 */
const isOfSubmission = (sql: Sql): Fragment => sql`(attempt = 0 OR attempt = 1 AND started_at IS NOT NULL)`;

/**
 * Returns the range of positions. `parts`: conditions whose index is ordered by position. Without any, all positions.
 */
export async function positionsOf(
  sql: Sql,
  endpointId: string,
  parts: readonly Fragment[],
  { fromMs, untilMs }: SubmittedRange,
): Promise<JobRange> {
  const positionAt = async (ms: number | undefined) =>
    ms === undefined || parts.length === 0 ? undefined : boundsAt(sql, endpointId, parts, ms);
  const [from, until] = await Promise.all([
    positionAt(fromMs === undefined ? undefined : fromMs - DISORDER_MS),
    positionAt(untilMs === undefined ? undefined : untilMs + DISORDER_MS),
  ]);
  return { low: from?.low ?? 0, high: until?.high ?? Number.MAX_SAFE_INTEGER };
}

/** Returns the condition that the job was submitted in that period. A retried job counts from its retry. */
export function submittedWithin(sql: Sql, { fromMs, untilMs }: SubmittedRange): Fragment {
  const from =
    fromMs === undefined
      ? sql``
      : sql`AND (submitted_at >= ${instantOf(sql, fromMs)}
    OR NOT ${isOfSubmission(sql)} AND coalesce(finished_at, now()) >= ${instantOf(sql, fromMs)})`;
  return untilMs === undefined ? from : sql`${from} AND submitted_at < ${instantOf(sql, untilMs)}`;
}

/** Returns bounds: jobs submitted before a time have positions below `high`, all others from `low` on. */
async function boundsAt(sql: Sql, endpointId: string, parts: readonly Fragment[], ms: number): Promise<JobRange> {
  const next = parts
    .map(
      (part) => sql`
    (SELECT position, submitted_at, ${isOfSubmission(sql)} AS tells FROM job
      WHERE endpoint_id = ${endpointId} AND ${part} AND position >= m.middle AND position < l.high ORDER BY position
        LIMIT ${SCANNED_MAX}::int)`,
    )
    .reduce((all, part) => sql`${all} UNION ALL ${part}`);
  const [found] = await sql<[JobRange]>`
    WITH RECURSIVE look AS (
      SELECT 0::bigint AS low, last_value + 1 AS high, last_value + 1 AS known, ${instantOf(sql, ms)} AS at
        FROM job_position_seq
      UNION ALL
      SELECT CASE WHEN p.submitted_at < l.at THEN p.position + 1 ELSE l.low END, CASE WHEN p.submitted_at < l.at
        THEN l.high ELSE m.middle END,
        CASE WHEN p.submitted_at >= l.at THEN p.position ELSE l.known END, l.at
      FROM look l CROSS JOIN LATERAL (SELECT (l.low + l.high) / 2 AS middle) AS m LEFT JOIN LATERAL (
        SELECT * FROM (SELECT * FROM (${next}) AS n ORDER BY position LIMIT ${SCANNED_MAX}::int) AS w WHERE tells
          ORDER BY position LIMIT 1
      ) AS p ON true
      WHERE l.low < l.high
    )
    SELECT low, known AS high FROM look WHERE low >= high`;
  return found;
}

function instantOf(sql: Sql, ms: number): Fragment {
  return sql`(timestamptz 'epoch' + ${ms}::float8 * interval '1 ms')`;
}
