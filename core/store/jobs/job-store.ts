/** Reads jobs, and changes them for their owners: cancel, retry, remaining life. */

import type { Job, JobKey } from '../../domain/jobs/job.ts';
import { statesBefore } from '../../domain/jobs/job-state.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import type { FailedSlice, FailedSliceRequest } from './failed-jobs.ts';
import { readErrorParts, readFailedJobs } from './failed-jobs.ts';
import type { JobListPage, JobListRequest } from './job-list.ts';
import { listJobs } from './job-list.ts';
import type { JobWalk, Match, ScannedJob, WalkedJobs } from './job-walk.ts';
import { beginWalk, matching, nextMatches } from './job-walk.ts';
import type { JobRow } from './rows.ts';
import { isLive, jobColumns, jobFromRow, metadataOf } from './rows.ts';
import { cancelled, requeued } from './user-transitions.ts';

/** A job from a batch read. */
interface FoundJob {
  /** Index of the key. */
  index: number;
  job: Job;
  /** True if the output is larger than requested; `readWhole` returns it. */
  outputLeftOut: boolean;
}

/** A cancelled job, and the machine that must stop it. */
interface CancelledJob {
  job: Job;
  machineId: string | undefined;
}

/** A requeued job, and its queue position. */
interface RequeuedJob {
  job: Job;
  position: number;
}

type CancelledRow = JobRow & { machine_id: string | null };
type RequeuedRow = JobRow & { position: number };

export class JobStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Reads many jobs. Jobs that do not exist or have expired are left out. Includes outputs of up to `outputBytesMax[i]`
   * bytes.
   */
  async read(keys: readonly JobKey[], outputBytesMax: readonly number[]): Promise<FoundJob[]> {
    const rows = await this.#hot<(JobRow & { index: number; left_out: boolean })[]>`
      SELECT ${jobColumns(this.#hot)}, g.index, o.error, CASE WHEN octet_length(o.output) <= g.bytes_max
        THEN o.output END AS output,
        coalesce(octet_length(o.output) > g.bytes_max, false) AS left_out
      FROM unnest(${numberArray(keys.map((_, index) => index))}::int[],
        ${textArray(keys.map((key) => key.endpointId))}::text[],
        ${textArray(keys.map((key) => key.jobId))}::text[], ${numberArray(outputBytesMax)}::int[]) AS g(index,
        endpoint_id, id, bytes_max)
      JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id
      LEFT JOIN job_output o ON o.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND o.job_id = j.id
      WHERE ${isLive(this.#hot)}`;
    return rows.map((row) => ({ index: row.index, job: jobFromRow(row), outputLeftOut: row.left_out }));
  }

  /** Returns a job with its output, whatever its size. */
  async readWhole(key: JobKey): Promise<Job | undefined> {
    const [row] = await this.#hot<JobRow[]>`
      SELECT ${jobColumns(this.#hot)}, o.error, o.output FROM job j LEFT JOIN job_output o
        ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return row && jobFromRow(row);
  }

  /** Returns the submitted input, `undefined` if the job does not exist. */
  async readInput(key: JobKey): Promise<Buffer | undefined> {
    const [row] = await this.#hot<{ input: Buffer }[]>`
      SELECT i.input FROM job j JOIN job_input i ON i.endpoint_id = j.endpoint_id AND i.job_id = j.id
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return row?.input;
  }

  /**
   * Returns the input of the newest completed job whose input has at most `bytesMax` bytes, among the last ten
   * completed ones. Jobs of batches are passed over: their requests are files of the account.
   */
  async lastCompletedInput(
    endpointId: string,
    bytesMax: number,
  ): Promise<{ jobId: string; input: Buffer } | undefined> {
    const [row] = await this.#hot<{ id: string; input: Buffer }[]>`
      SELECT j.id, i.input FROM (SELECT endpoint_id, id, position FROM job WHERE endpoint_id = ${endpointId}
        AND state = 'COMPLETED' AND finished_at IS NOT NULL AND expires_at > now()
        ORDER BY position DESC LIMIT 10) AS j
      JOIN job_input i ON i.endpoint_id = ANY(ARRAY[j.endpoint_id]) AND i.job_id = j.id
      WHERE i.batch_id IS NULL AND octet_length(i.input) <= ${bytesMax}::int ORDER BY j.position DESC LIMIT 1`;
    return row && { jobId: row.id, input: row.input };
  }

  /** Returns the metadata of a job. `undefined` if it has none or does not exist. */
  async readMetadata(key: JobKey): Promise<Record<string, string> | undefined> {
    const [row] = await this.#hot<{ metadata: string | null }[]>`
      SELECT metadata FROM job_input WHERE endpoint_id = ${key.endpointId} AND job_id = ${key.jobId}`;
    return metadataOf(row?.metadata);
  }

  /**
   * Sets the remaining life of a job. For a finished job it may also shorten the retention of the result, never extend
   * it. Returns false if there is no such job.
   */
  async setRemainingLife(key: JobKey, ttlMs: number): Promise<boolean> {
    const result = await this.#hot`
      UPDATE job j SET ttl_deadline_at = now() + ${ttlMs}::bigint * interval '1 ms',
        expires_at = least(now() + ${ttlMs}::bigint * interval '1 ms', finished_at + retention_ms * interval '1 ms')
      WHERE j.endpoint_id = ${key.endpointId} AND j.id = ${key.jobId} AND ${isLive(this.#hot)}`;
    return result.count > 0;
  }

  /** Cancels a queued or running job. Returns `undefined` if it is neither. */
  async cancel(key: JobKey): Promise<CancelledJob | undefined> {
    const [row] = await this.#hot<CancelledRow[]>`${cancelled(this.#hot, one(this.#hot, key, 'cancel'))}`;
    return row && cancelledFromRow(row);
  }

  /** Cancels the given jobs that still match. See job-walk.ts. */
  async cancelMatching(walk: JobWalk, matches: readonly Match[]): Promise<CancelledJob[]> {
    const rows = await this.#hot<CancelledRow[]>`${cancelled(this.#hot, matching(this.#hot, walk, matches))}`;
    return rows.map(cancelledFromRow);
  }

  /** Requeues a failed or timed-out job at the end of the queue. Returns `undefined` in any other state. */
  async retry(key: JobKey): Promise<RequeuedJob | undefined> {
    const [row] = await this.#hot<
      RequeuedRow[]
    >`${requeued(this.#hot, this.#hot`nextval('job_position_seq')`, one(this.#hot, key, 'retry'))}`;
    return row && { job: jobFromRow(row), position: row.position };
  }

  /** Requeues the jobs that still match, each at its assigned position. See job-walk.ts. */
  async retryMatching(walk: JobWalk, matches: readonly Match[]): Promise<RequeuedJob[]> {
    const rows = await this.#hot<
      RequeuedRow[]
    >`${requeued(this.#hot, this.#hot`g.next_position`, matching(this.#hot, walk, matches))}`;
    return rows.map((row) => ({ job: jobFromRow(row), position: row.position }));
  }

  /** Begins a walk over the current jobs. See job-walk.ts. */
  beginWalk(wanted: WalkedJobs): Promise<JobWalk> {
    return beginWalk(this.#hot, wanted);
  }

  /** Returns the next jobs of a walk, at most `limit`. */
  nextMatches(walk: JobWalk, limit: number): Promise<ScannedJob[]> {
    return nextMatches(this.#hot, walk, limit);
  }

  /** Returns a page of an endpoint's jobs. See job-list.ts. */
  list(endpointId: string, page: JobListRequest): Promise<JobListPage> {
    return listJobs(this.#hot, endpointId, page);
  }

  /** Returns a slice of an endpoint's failed jobs with their errors. See failed-jobs.ts. */
  failed(endpointId: string, slice: FailedSliceRequest): Promise<FailedSlice> {
    return readFailedJobs(this.#hot, endpointId, slice);
  }

  /** Returns parts of the errors of the first of these jobs, or of all. See failed-jobs.ts. */
  errorParts(endpointId: string, jobIds: readonly string[]): ReturnType<typeof readErrorParts> {
    return readErrorParts(this.#hot, endpointId, jobIds);
  }
}

/** Selects the named job, if the transition is allowed from its state. */
function one(sql: Sql, { endpointId, jobId }: JobKey, move: 'cancel' | 'retry'): Fragment {
  return sql`WHERE j.endpoint_id = ${endpointId} AND j.id = ${jobId}
    AND j.state = ANY(${textArray(statesBefore(move))}::text[])`;
}

function cancelledFromRow(row: CancelledRow): CancelledJob {
  return { job: jobFromRow(row), machineId: row.machine_id ?? undefined };
}
