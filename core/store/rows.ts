/** Rows of jobs as statements return them, and what they become. */
import type { Job } from '../domain/job.ts';
import type { JobState } from '../domain/job-state.ts';
import type { Sql } from './database.ts';

/** The columns of `jobColumns`. */
export interface JobRow {
  endpoint_id: string;
  id: string;
  state: JobState;
  attempt: number;
  retries: number;
  worker_id: string | null;
  submitted_ms: number;
  started_ms: number | null;
  finished_ms: number | null;
  output?: Buffer | null;
  error?: string | null;
}

/** Names an attempt. */
export interface AttemptRow {
  endpoint_id: string;
  id: string;
  attempt: number;
}

/** Columns of the table or row set called j. Instants become milliseconds here, so that no driver setting can change them. */
export function jobColumns(sql: Sql) {
  return sql`j.endpoint_id, j.id, j.state, j.attempt, j.retries, j.worker_id,
    (extract(epoch FROM j.submitted_at) * 1000)::float8 AS submitted_ms,
    (extract(epoch FROM j.started_at) * 1000)::float8 AS started_ms,
    (extract(epoch FROM j.finished_at) * 1000)::float8 AS finished_ms`;
}

/**
 * The guard "j is IN_PROGRESS" of statements that find their rows by key. The `|| ''` hides it from the planner, who would else walk a partial
 * index of all running jobs once for every entry: 700 µs an outcome with 10,000 running jobs instead of 60.
 */
export function isRunning(sql: Sql) {
  return sql`j.state || '' = 'IN_PROGRESS'`;
}

/** A job without its output, or with it where the row carries one. */
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
    startedAtMs: row.started_ms ?? undefined,
    finishedAtMs: row.finished_ms ?? undefined,
  };
}
