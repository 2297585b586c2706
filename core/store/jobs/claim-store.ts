/**
 * Claims queued jobs with two index scans, normal and low priority. Each scan begins at the position up to which this
 * replica has claimed: claimed rows stay in the index until vacuum removes them (never, while an old snapshot is
 * open), and a scan from the start would step over all of them.
 */

import type { MachineAttempt } from '../../domain/jobs/job.ts';
import { QUEUED_MS_MIN, WAITING_MS } from '../../domain/jobs/prefetch.ts';
import type { Database, Sql } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import { claimCountersAdded } from './endpoint-counters.ts';

/** A job whose claim is committed. */
export interface ClaimedRow extends MachineAttempt {
  workerId: string;
  /** `undefined` if it is too large for the session's stream; the agent fetches it. */
  input: Buffer | undefined;
  inputSize: number;
  /** Sealed S3Config, opened only when it is sent. */
  s3ConfigSealed: Buffer | undefined;
  /** Context of a sampled trace. */
  traceparent?: string | undefined;
  /** When the job was submitted, in milliseconds since 1970. Only with a traceparent. */
  submittedAtMs?: number | undefined;
  /** The batch that it belongs to. */
  batchId?: string | undefined;
}

/** A claimed job and its queue position. */
export interface Claim {
  job: ClaimedRow;
  position: number;
  lowPriority: boolean;
}

/** A claim request. */
interface ClaimRequest {
  endpointId: string;
  /** At most one job is claimed for each. */
  slots: readonly { workerId: string; machineId: string }[];
  /** A new UUID. If the reply was lost, `find` returns by it what was claimed. */
  claimId: string;
  /** Only positions after these. 0: from the start. */
  afterNormal: number;
  afterLow: number;
  /** Inputs up to this many bytes come with the claim. */
  inputBytesMax: number;
}

interface ClaimRow {
  id: string;
  attempt: number;
  worker_id: string;
  machine_id: string;
  low_priority: boolean;
  position: number;
  input_size: number;
  input: Buffer | null;
  s3_config_sealed: Buffer | null;
  traceparent: string | null;
  submitted_ms: number | null;
  batch_id: string | null;
}

/** Most bytes of inputs returned with one claim; agents fetch the others. */
const CLAIM_BYTES_MAX = 8 * 1024 * 1024;

export class ClaimStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Claims up to one job per slot. Resolves after the commit. Normal before low priority, each in order of position.
   */
  async claim(request: ClaimRequest): Promise<Claim[]> {
    const { endpointId, slots, claimId, afterNormal, afterLow, inputBytesMax } = request;
    const count = slots.length;
    const rows = await this.#hot<ClaimRow[]>`
      WITH normal AS MATERIALIZED (
        SELECT endpoint_id, id, position FROM job
        WHERE endpoint_id = ${endpointId} AND low_priority = false AND state = 'IN_QUEUE' AND position > ${afterNormal}
          AND expires_at > now()
        ORDER BY position LIMIT ${count}::int FOR UPDATE SKIP LOCKED
      ), low AS MATERIALIZED (
        SELECT endpoint_id, id, position FROM job
        WHERE endpoint_id = ${endpointId} AND low_priority = true AND state = 'IN_QUEUE' AND position > ${afterLow}
          AND expires_at > now()
        ORDER BY position LIMIT ${count}::int - (SELECT count(*) FROM normal) FOR UPDATE SKIP LOCKED
      ), picked AS (
        SELECT endpoint_id, id, row_number() OVER (ORDER BY low, position) AS slot
        FROM (SELECT endpoint_id, id, position, false AS low FROM normal
          UNION ALL SELECT endpoint_id, id, position, true FROM low) AS q
      ), moved AS (
        UPDATE job j SET state = 'IN_PROGRESS', attempt = j.attempt + 1, claim_id = ${claimId}::uuid,
          worker_id = (${textArray(slots.map((slot) => slot.workerId))}::text[])[p.slot],
          machine_id = (${textArray(slots.map((slot) => slot.machineId))}::text[])[p.slot],
          started_at = now(), execution_deadline_at = now() + j.execution_timeout_ms * interval '1 ms'
        FROM picked p WHERE j.endpoint_id = ANY(ARRAY[p.endpoint_id]) AND j.id = p.id
        RETURNING j.endpoint_id, j.id, j.attempt, j.worker_id, j.machine_id, j.low_priority, j.position, j.submitted_at
      ), ${claimCountersAdded(this.#hot, this.#hot`SELECT endpoint_id, low_priority, position FROM moved`)}
        ${withInputs(this.#hot, inputBytesMax)}`;
    return rows.map((row) => claimFromRow(endpointId, row));
  }

  /**
   * Claims up to one job per slot that follow the jobs `behind` in the queue and have the same priority, execution
   * timeout and ttl. Stops at the first job that differs or was queued a moment ago. Claims none if the jobs `behind`
   * differ.
   */
  async claimPrefetched(
    { endpointId, slots, claimId, afterNormal, afterLow, inputBytesMax }: ClaimRequest,
    behind: readonly string[],
  ): Promise<Claim[]> {
    const count = slots.length;
    const sql = this.#hot;
    const queued = sql`endpoint_id = ${endpointId} AND low_priority = (SELECT low FROM policy) AND state = 'IN_QUEUE'
      AND expires_at > now()
      AND position > CASE WHEN (SELECT low FROM policy) THEN ${afterLow}::bigint ELSE ${afterNormal}::bigint END
        AND (SELECT kinds FROM policy) = 1`;
    const rows = await sql<ClaimRow[]>`
      WITH policy AS MATERIALIZED (
        SELECT bool_or(low_priority) AS low, min(execution_timeout_ms) AS timeout_ms,
          min(ttl_deadline_at - submitted_at) AS ttl,
          count(DISTINCT (low_priority, execution_timeout_ms, ttl_deadline_at - submitted_at)) AS kinds
        FROM job WHERE endpoint_id = ANY(ARRAY[${endpointId}]) AND id = ANY(${textArray(behind)}::text[])
      ), head AS MATERIALIZED (
        SELECT position, execution_timeout_ms = (SELECT timeout_ms FROM policy)
          AND ttl_deadline_at - submitted_at = (SELECT ttl FROM policy)
          AND submitted_at <= now() - ${QUEUED_MS_MIN}::int * interval '1 ms' AS fits
        FROM job WHERE ${queued} ORDER BY position LIMIT ${count}::int
      ), picked AS MATERIALIZED (
        SELECT endpoint_id, id, position FROM job
        WHERE ${queued} AND position < coalesce((SELECT min(position) FROM head WHERE NOT fits),
          (SELECT max(position) + 1 FROM head))
        ORDER BY position LIMIT ${count}::int FOR UPDATE SKIP LOCKED
      ), placed AS (SELECT endpoint_id, id, row_number() OVER (ORDER BY position) AS slot FROM picked
      ), moved AS (
        UPDATE job j SET state = 'IN_PROGRESS', attempt = j.attempt + 1, claim_id = ${claimId}::uuid,
          worker_id = (${textArray(slots.map((slot) => slot.workerId))}::text[])[p.slot],
          machine_id = (${textArray(slots.map((slot) => slot.machineId))}::text[])[p.slot],
          started_at = now(), execution_deadline_at = now() + (j.execution_timeout_ms + ${WAITING_MS}::int) * interval
            '1 ms'
        FROM placed p WHERE j.endpoint_id = ANY(ARRAY[p.endpoint_id]) AND j.id = p.id
        RETURNING j.endpoint_id, j.id, j.attempt, j.worker_id, j.machine_id, j.low_priority, j.position, j.submitted_at
      ), ${claimCountersAdded(sql, sql`SELECT endpoint_id, low_priority, position FROM moved`)}
        ${withInputs(sql, inputBytesMax)}`;
    return rows.map((row) => claimFromRow(endpointId, row));
  }

  /** Returns what a claim with this id claimed, after its reply was lost. */
  async find(endpointId: string, claimId: string, inputBytesMax: number): Promise<Claim[]> {
    const rows = await this.#hot<ClaimRow[]>`
      WITH moved AS (
        SELECT endpoint_id, id, attempt, worker_id, machine_id, low_priority, position, submitted_at FROM job
        WHERE endpoint_id = ${endpointId} AND state = 'IN_PROGRESS' AND claim_id = ${claimId}::uuid ORDER BY worker_id
      ) ${withInputs(this.#hot, inputBytesMax)}`;
    return rows.map((row) => claimFromRow(endpointId, row));
  }

  /**
   * Returns the endpoints that have a queued job, by their counters: the head of a queue's index is full of jobs that
   * ran already.
   */
  async queuedEndpoints(endpointIds: readonly string[]): Promise<string[]> {
    const rows = await this.#hot<{ id: string }[]>`
      SELECT e.id FROM unnest(${textArray(endpointIds)}::text[]) AS e(id)
      WHERE (SELECT sum(t.queued) FROM endpoint_tally t WHERE t.endpoint_id = e.id) > 0`;
    return rows.map((row) => row.id);
  }
}

function withInputs(sql: Sql, inputBytesMax: number) {
  // octet_length reads only the head of a large value; the CASE keeps the rest on disk.
  return sql`, sized AS (
      SELECT m.*, i.input, i.s3_config_sealed, i.traceparent, i.batch_id, octet_length(i.input) AS input_size,
        sum(least(octet_length(i.input), ${inputBytesMax}::int)) OVER (ORDER BY m.low_priority, m.position) AS running
      FROM moved m LEFT JOIN job_input i ON i.endpoint_id = ANY(ARRAY[m.endpoint_id]) AND i.job_id = m.id
    )
    SELECT id, attempt, worker_id, machine_id, low_priority, position, coalesce(input_size, 0) AS input_size,
      s3_config_sealed, traceparent, batch_id,
      CASE WHEN traceparent IS NOT NULL THEN (extract(epoch FROM submitted_at) * 1000)::float8 END AS submitted_ms,
      CASE WHEN input_size <= ${inputBytesMax}::int AND running <= ${CLAIM_BYTES_MAX}::int THEN input END AS input
    FROM sized ORDER BY low_priority, position`;
}

function claimFromRow(endpointId: string, row: ClaimRow): Claim {
  return {
    position: row.position,
    lowPriority: row.low_priority,
    job: {
      endpointId,
      jobId: row.id,
      attempt: row.attempt,
      workerId: row.worker_id,
      machineId: row.machine_id,
      input: row.input ?? undefined,
      inputSize: row.input_size,
      s3ConfigSealed: row.s3_config_sealed ?? undefined,
      traceparent: row.traceparent ?? undefined,
      submittedAtMs: row.submitted_ms ?? undefined,
      batchId: row.batch_id ?? undefined,
    },
  };
}
