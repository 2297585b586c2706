/** Inserts jobs together with their outcomes: one commit for jobs that ended before they were stored. */
import type { Fragment, Sql } from '../sql/database.ts';
import { flagArray, numberArray, packBytes, textArray } from '../sql/pack.ts';
import { countersAdded } from './endpoint-counters.ts';
import type { NewJob } from './inserted-rows.ts';
import type { RecordedOutcome } from './outcome-store.ts';
import type { JobRow } from './rows.ts';
import { jobFromRow, timeColumns } from './rows.ts';

/** A job that is COMPLETED in its first attempt and has no row. */
export interface EndedJob {
  job: NewJob;
  workerId: string;
  machineId: string;
  /** Milliseconds since its submission. */
  ageMs: number;
  /** Execution time in milliseconds; `undefined` counts from the submission. */
  executionMs: number | undefined;
  output: Buffer | undefined;
}

/** Columns that the insert returns. Core knows the others of a new row. */
interface EndedRow extends Pick<JobRow, 'submitted_ms' | 'finished_ms' | 'delay_ms' | 'execution_ms'> {
  index: number;
}

/**
 * Inserts jobs and returns the new ones. A job whose id exists already is left as it is, with all of its rows.
 * Jobs must be ordered by (endpointId, jobId), so that two statements never deadlock.
 */
export async function insertEnded(sql: Sql, jobs: readonly EndedJob[]): Promise<RecordedOutcome[]> {
  const input = packBytes(jobs.map(({ job }) => job.input));
  const output = packBytes(jobs.map((ended) => ended.output));
  const given =
    jobs.length === 1
      ? one(sql, jobs[0]!)
      : sql`unnest(
        ${numberArray(jobs.map((_, index) => index))}::int[],
        ${textArray(jobs.map(({ job }) => job.endpointId))}::text[],
        ${textArray(jobs.map(({ job }) => job.id))}::text[],
        ${flagArray(jobs.map(({ job }) => job.lowPriority))}::boolean[],
        ${numberArray(jobs.map(({ job }) => job.executionTimeoutMs))}::bigint[],
        ${numberArray(jobs.map(({ job }) => job.retentionMs))}::bigint[],
        ${numberArray(jobs.map(({ job }) => job.ttlMs))}::bigint[],
        ${numberArray(jobs.map(({ ageMs }) => ageMs))}::float8[],
        ${numberArray(jobs.map(({ executionMs, ageMs }) => executionMs ?? ageMs))}::float8[],
        ${input.starts}::int[], ${input.lengths}::int[], ${output.starts}::int[], ${output.lengths}::int[],
        ${textArray(jobs.map(({ workerId }) => workerId))}::text[],
        ${textArray(jobs.map(({ machineId }) => machineId))}::text[])`;
  const rows = await sql<EndedRow[]>`
    WITH given AS ${jobs.length === 1 ? sql`NOT MATERIALIZED` : sql``} (
      SELECT * FROM ${given} AS g(index, endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms,
        age_ms, execution_ms, input_start, input_length, output_start, output_length, worker_id, machine_id)
    ), ended AS (
      INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, execution_timeout_ms,
        retention_ms, submitted_at, started_at, finished_at, ttl_deadline_at, expires_at)
      SELECT g.endpoint_id, g.id, 'COMPLETED', g.low_priority, 1, g.machine_id, g.worker_id, g.execution_timeout_ms,
        g.retention_ms, now() - g.age_ms * interval '1 ms',
        now() - least(g.execution_ms, g.age_ms) * interval '1 ms', now(),
        now() + (g.ttl_ms - g.age_ms) * interval '1 ms',
        now() + least(g.ttl_ms - g.age_ms, g.retention_ms) * interval '1 ms'
      FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
      RETURNING j.endpoint_id, j.id, ${timeColumns(sql)}
    ), written AS (
      SELECT e.*, g.index, g.input_start, g.input_length, g.output_start, g.output_length
      FROM ended e JOIN given g ON g.endpoint_id = e.endpoint_id AND g.id = e.id
    ), payload AS (
      INSERT INTO job_input (endpoint_id, job_id, input)
      SELECT endpoint_id, id, substring(${input.blob}::bytea FROM input_start FOR input_length) FROM written
    ), result AS (
      INSERT INTO job_output (endpoint_id, job_id, output)
      SELECT endpoint_id, id, substring(${output.blob}::bytea FROM output_start FOR output_length) FROM written
    ), ${countersAdded(
      sql,
      sql`SELECT endpoint_id, count(*) AS completed, 0 AS failed, 0 AS retried, 0 AS queued, 0 AS queued_low,
        0 AS claimed_to FROM ended GROUP BY endpoint_id`,
    )}
    SELECT submitted_ms, finished_ms, delay_ms, execution_ms, index FROM written`;
  return rows.map(({ index, ...times }) => {
    const { job, workerId } = jobs[index]!;
    const known = { endpoint_id: job.endpointId, id: job.id, state: 'COMPLETED', attempt: 1, retries: 0 } as const;
    return {
      index,
      job: jobFromRow({ ...times, ...known, worker_id: workerId }),
      position: 0,
      hasWebhook: false,
      lowPriority: job.lowPriority,
    };
  });
}

function one(sql: Sql, { job, workerId, machineId, ageMs, executionMs, output }: EndedJob): Fragment {
  return sql`(VALUES (0, ${job.endpointId}::text, ${job.id}::text, ${job.lowPriority}::boolean,
    ${job.executionTimeoutMs}::bigint, ${job.retentionMs}::bigint, ${job.ttlMs}::bigint, ${ageMs}::float8,
    ${executionMs ?? ageMs}::float8, 1, ${job.input.length}::int, 1, ${output?.length ?? null}::int,
    ${workerId}::text, ${machineId}::text))`;
}
