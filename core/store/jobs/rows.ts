/** Converts rows of jobs. */
import type { Job } from '../../domain/jobs/job.ts';
import type { JobState } from '../../domain/jobs/job-state.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { samePart } from '../sql/database.ts';

/** The columns of `jobColumns`. */
export interface JobRow {
  endpoint_id: string;
  id: string;
  state: JobState;
  attempt: number;
  retries: number;
  worker_id: string | null;
  submitted_ms: number;
  finished_ms: number | null;
  delay_ms: number | null;
  execution_ms: number | null;
  output?: Buffer | null;
  error?: string | null;
  metadata?: string | null;
}

/** Columns that identify an attempt. */
export interface AttemptRow {
  endpoint_id: string;
  id: string;
  attempt: number;
}

/**
 * Columns of the table or row set called j. Instants become milliseconds here, so that no driver setting can change
 * them, and spans are rounded here and nowhere else, so that a record and its webhook never differ.
 */
export const jobColumns = samePart(
  (sql) => sql`j.endpoint_id, j.id, j.state, j.attempt, j.retries, j.worker_id,
    ${timeColumns(sql)}`,
);

/** Computed columns of times: submitted_ms, finished_ms, delay_ms and execution_ms. */
export const timeColumns = samePart(
  (sql) => sql`${submittedMs(sql)} AS submitted_ms, ${microseconds(sql, sql`j.finished_at`)} / 1000 AS finished_ms,
    ${spanMs(sql, sql`j.submitted_at`, sql`j.started_at`)} AS delay_ms,
    ${spanMs(sql, sql`j.started_at`, sql`j.finished_at`)} AS execution_ms`,
);

/** Returns the time of the submission in milliseconds since 1970. */
export function submittedMs(sql: Sql): Fragment {
  return sql`${microseconds(sql, sql`j.submitted_at`)} / 1000`;
}

/**
 * Returns microseconds since 1970, or of a span. Exact: a float8 represents them as integers for three hundred years.
 * It costs a tenth of `extract`, which computes in decimals: that was a tenth of an outcome.
 */
function microseconds(sql: Sql, of: Fragment) {
  return sql`round(date_part('epoch', ${of}) * 1e6)`;
}

/**
 * Returns milliseconds as an integer, halves rounded up. Never negative, even if the database's clock was set back.
 * NULL while one of both is.
 */
function spanMs(sql: Sql, from: Fragment, to: Fragment) {
  return sql`CASE WHEN ${to} < ${from} THEN 0
    ELSE floor((${microseconds(sql, sql`${to} - ${from}`)} + 500) / 1000) END`;
}

/**
 * Guards of statements that find jobs by key, hidden from the planner. Without them, a plan made while the table was
 * small would walk an index of all running or all unexpired jobs for every key, for as long as its connection lives.
 * For the same reason lists of keys are joined by `endpoint_id = ANY(ARRAY[…])`: no merge join can use it, so the
 * planner does not scan the whole primary key in order either. What remains is one primary key lookup per row,
 * whatever the row count was at planning time.
 */
export const isRunning = samePart((sql) => sql`j.state || '' = 'IN_PROGRESS'`);

/** See isRunning. */
export const isLive = samePart((sql) => sql`j.expires_at + interval '0' > now()`);

/** Returns the job of a row, with its output if the row has one. */
export function jobFromRow(row: JobRow): Job {
  return {
    id: row.id,
    endpointId: row.endpoint_id,
    state: row.state,
    output: row.output ?? undefined,
    error: row.error ?? undefined,
    attempt: row.attempt,
    retries: row.retries,
    workerId: row.worker_id ?? undefined,
    submittedAtMs: row.submitted_ms,
    finishedAtMs: row.finished_ms ?? undefined,
    delayMs: row.delay_ms ?? undefined,
    executionMs: row.execution_ms ?? undefined,
    ...(row.metadata ? { metadata: metadataOf(row.metadata) } : {}),
  };
}

/** Returns stored metadata as pairs. `undefined` if there is none. */
export function metadataOf(text: string | null | undefined): Record<string, string> | undefined {
  return text === null || text === undefined ? undefined : (JSON.parse(text) as Record<string, string>);
}
