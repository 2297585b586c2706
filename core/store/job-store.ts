/** Reads jobs, and moves them on behalf of their owners: cancel, retry, remaining life. */
import { statesBefore } from '../domain/job-state.ts';
import type { Job, JobKey } from '../domain/job.ts';
import type { Database, Sql } from './database.ts';
import { listJobs } from './job-list.ts';
import type { JobListPage, JobListRequest } from './job-list.ts';
import { rememberedOfUser } from './lost-attempt-rows.ts';
import { numberArray, textArray } from './pack.ts';
import { isLive, jobColumns, jobFromRow } from './rows.ts';
import type { JobRow } from './rows.ts';
import { talliedQueue } from './tally.ts';

/** A job that was read in a batch. */
export interface FoundJob {
  /** Index of the key. */
  place: number;
  job: Job;
  /** It has an output that is larger than was asked for; read it with `readWhole`. */
  outputLeftOut: boolean;
}

/** A job that was cancelled, and the machine that has to stop it. */
export interface Cancelled {
  job: Job;
  machineId: string | undefined;
}

export class JobStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /** Reads many jobs; those that are not there or have expired are missing in the answer. Outputs up to `outputBytesMax[i]` bytes come with them. */
  async read(keys: readonly JobKey[], outputBytesMax: readonly number[]): Promise<FoundJob[]> {
    const rows = await this.#hot<(JobRow & { place: number; left_out: boolean })[]>`
      SELECT ${jobColumns(this.#hot)}, g.place, o.error, CASE WHEN octet_length(o.output) <= g.bytes_max THEN o.output END AS output,
        coalesce(octet_length(o.output) > g.bytes_max, false) AS left_out
      FROM unnest(${numberArray(keys.map((_, index) => index))}::int[], ${textArray(keys.map((key) => key.endpointId))}::text[],
        ${textArray(keys.map((key) => key.jobId))}::text[], ${numberArray(outputBytesMax)}::int[]) AS g(place, endpoint_id, id, bytes_max)
      JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id
      LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
      WHERE ${isLive(this.#hot)}`;
    return rows.map((row) => ({ place: row.place, job: jobFromRow(row), outputLeftOut: row.left_out }));
  }

  /** Reads a job with its output, whatever its size. */
  async readWhole(key: JobKey): Promise<Job | undefined> {
    const [row] = await this.#hot<JobRow[]>`
      SELECT ${jobColumns(this.#hot)}, o.error, o.output FROM job j LEFT JOIN job_output o ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return row && jobFromRow(row);
  }

  /** What was submitted as its input. Undefined: no such job. */
  async readInput(key: JobKey): Promise<Buffer | undefined> {
    const [row] = await this.#hot<{ input: Buffer }[]>`
      SELECT i.input FROM job j JOIN job_input i ON i.endpoint_id = j.endpoint_id AND i.job_id = j.id
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return row?.input;
  }

  /** Sets the remaining life of a job; of a finished one also the end of its result, which it cannot put off. False: no such job. */
  async setRemainingLife(key: JobKey, ttlMs: number): Promise<boolean> {
    const result = await this.#hot`
      UPDATE job j SET ttl_deadline_at = now() + ${ttlMs}::bigint * interval '1 ms',
        expires_at = least(now() + ${ttlMs}::bigint * interval '1 ms', finished_at + retention_ms * interval '1 ms')
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return result.count > 0;
  }

  /** Cancels a job that is queued or running. Undefined: it is neither. Earlier progress is removed as consequences.ts says. */
  async cancel(key: JobKey): Promise<Cancelled | undefined> {
    const [row] = await this.#hot<(JobRow & { machine_id: string | null })[]>`
      WITH moved AS (
        UPDATE job j SET state = 'CANCELLED', finished_at = now(), execution_deadline_at = NULL, claim_id = NULL,
          expires_at = least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms')
        WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND j.state = ANY(${textArray(statesBefore('cancel'))}::text[]) AND ${isLive(this.#hot)}
        RETURNING ${jobColumns(this.#hot)}, j.machine_id, j.low_priority
      ), emptied AS (
        INSERT INTO job_output (endpoint_id, job_id) SELECT m.endpoint_id, m.id FROM moved m WHERE m.machine_id IS NOT NULL
        ON CONFLICT (endpoint_id, job_id) DO UPDATE SET output = NULL, error = NULL
      ), ${talliedQueue(this.#hot, -1, this.#hot`SELECT endpoint_id, low_priority FROM moved WHERE machine_id IS NULL`)}
      SELECT * FROM moved`;
    return row && { job: jobFromRow(row), machineId: row.machine_id ?? undefined };
  }

  /**
   * Queues a failed or timed-out job again, at the end. Its output, chunks and stream place are removed; its attempt is remembered. Undefined: it is in no
   * such state.
   */
  async retry(key: JobKey): Promise<{ job: Job; position: number } | undefined> {
    const [row] = await this.#hot<(JobRow & { position: number })[]>`
      WITH moved AS (
        UPDATE job j SET state = 'IN_QUEUE', position = nextval('job_position_seq'), retries = 0, started_at = NULL, finished_at = NULL,
          machine_id = NULL, worker_id = NULL, expires_at = j.ttl_deadline_at
        WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND j.state = ANY(${textArray(statesBefore('retry'))}::text[]) AND ${isLive(this.#hot)}
        RETURNING ${jobColumns(this.#hot)}, j.position, j.low_priority
      ), ${rememberedOfUser(this.#hot)}, outputs AS (
        DELETE FROM job_output t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
      ), chunks AS (
        DELETE FROM job_chunk t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
      ), cursors AS (
        DELETE FROM stream_cursor t USING moved m WHERE t.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND t.job_id = m.id
      ), ${talliedQueue(this.#hot, 1, this.#hot`SELECT endpoint_id, low_priority FROM moved`)}
      SELECT * FROM moved`;
    return row && { job: jobFromRow(row), position: row.position };
  }

  /** A page of an endpoint's jobs. See job-list.ts. */
  list(endpointId: string, page: JobListRequest): Promise<JobListPage> {
    return listJobs(this.#hot, endpointId, page);
  }
}
