/** Inserts jobs with their inputs: part of a statement or transaction of the caller. */
import type { Job } from '../../domain/jobs/job.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import { samePart } from '../sql/database.ts';
import type { PackedBytes } from '../sql/pack.ts';
import { flagArray, numberArray, packBytes, textArray } from '../sql/pack.ts';
import { queueCountersAdded } from './endpoint-counters.ts';
import type { JobRow } from './rows.ts';
import { jobFromRow, submittedMs } from './rows.ts';

/** A job to insert. */
export interface NewJob {
  endpointId: string;
  id: string;
  lowPriority: boolean;
  executionTimeoutMs: number;
  retentionMs: number;
  ttlMs: number;
  input: Buffer;
  webhookSealed: Buffer | undefined;
  s3ConfigSealed: Buffer | undefined;
  /** Context of a sampled trace. */
  traceparent?: string | undefined;
  /** The batch that it belongs to. */
  batchId?: string | undefined;
  /** Metadata as a JSON object of strings. */
  metadata?: string | undefined;
}

/** A worker that takes a job at once. */
interface WorkerSlot {
  workerId: string;
  machineId: string;
}

/** A job to insert, with the worker that runs it at once, if there is one. */
export interface JobWithSlot<Slot extends WorkerSlot = WorkerSlot> {
  job: NewJob;
  slot: Slot | undefined;
}

/** A stored job. */
export interface StoredJob {
  job: Job;
  position: number;
  /** The claim that holds it; null if none does. */
  claimId: string | null;
}

/** A stored job as a row. */
export interface StoredRow extends JobRow {
  position: number;
  claim_id: string | null;
}

/** Columns that an insert returns. Core knows the others of a new row. */
type InsertedRow = Pick<StoredRow, 'endpoint_id' | 'id' | 'position' | 'submitted_ms'>;

const queued = samePart(
  (sql) =>
    sql`, ${queueCountersAdded(sql, 1, sql`SELECT endpoint_id, low_priority FROM stored WHERE state = 'IN_QUEUE'`)}`,
);

/** Inserts jobs within a caller's statement or transaction. See SubmissionStore.insert. */
export async function insertJobs(sql: Sql, placements: readonly JobWithSlot[], claimId: string): Promise<StoredJob[]> {
  const jobs = placements.map((placement) => placement.job);
  const input = packBytes(jobs.map((job) => job.input));
  const sealed = packBytes(jobs.map((job) => job.s3ConfigSealed));
  const webhook = packBytes(jobs.map((job) => job.webhookSealed));
  // Each part of a statement has a fixed cost: leave out the queue counters if all jobs have a worker.
  const queues = placements.some((placement) => placement.slot === undefined);
  const isOne = placements.length === 1;
  const described = describedJobs(sql, jobs);
  const rows = await sql<InsertedRow[]>`
    WITH given AS ${isOne ? sql`NOT MATERIALIZED` : sql``} (
      SELECT * FROM ${isOne ? one(sql, placements[0]!) : many(sql, placements, { input, sealed, webhook })}
        AS g(endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms, input_start, input_length,
          webhook_start, webhook_length,
          sealed_start, sealed_length, worker_id, machine_id, traceparent, batch_id)
    )${described.rows}, payload AS (
      INSERT INTO job_input (endpoint_id, job_id, input, webhook_sealed, s3_config_sealed, traceparent,
        batch_id${described.column})
      SELECT g.endpoint_id, g.id, substring(${input.blob}::bytea FROM g.input_start FOR g.input_length),
        substring(${webhook.blob}::bytea FROM g.webhook_start FOR g.webhook_length), substring(${sealed.blob}::bytea
          FROM g.sealed_start FOR g.sealed_length),
        g.traceparent, g.batch_id${described.value}
      FROM given g${described.joined} ON CONFLICT (endpoint_id, job_id) DO NOTHING
    ), stored AS (
    INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, claim_id, has_webhook,
      execution_timeout_ms,
      retention_ms, submitted_at, started_at, execution_deadline_at, ttl_deadline_at, expires_at)
    SELECT g.endpoint_id, g.id, CASE WHEN g.worker_id IS NULL THEN 'IN_QUEUE' ELSE 'IN_PROGRESS' END, g.low_priority,
      CASE WHEN g.worker_id IS NULL THEN 0 ELSE 1 END, g.machine_id, g.worker_id,
      CASE WHEN g.worker_id IS NOT NULL THEN ${claimId}::uuid END, g.webhook_length IS NOT NULL, g.execution_timeout_ms,
      g.retention_ms, now(),
      CASE WHEN g.worker_id IS NOT NULL THEN now() END,
      CASE WHEN g.worker_id IS NOT NULL THEN now() + g.execution_timeout_ms * interval '1 ms' END,
      now() + g.ttl_ms * interval '1 ms', now() + g.ttl_ms * interval '1 ms'
    FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
    RETURNING j.endpoint_id, j.id, j.state, j.low_priority, j.position, ${submittedMs(sql)} AS submitted_ms
    )${described.pairs}${queues ? queued(sql) : sql``}
    SELECT endpoint_id, id, position, submitted_ms FROM stored`;
  return storedJobs(rows, placements, claimId);
}

/** Returns the jobs of new rows. */
function storedJobs(rows: readonly InsertedRow[], placements: readonly JobWithSlot[], claimId: string): StoredJob[] {
  let next = 0;
  // Rows come in the order of their jobs, so each is found at once.
  const slotOf = ({ endpoint_id: endpointId, id }: InsertedRow): WorkerSlot | undefined => {
    for (let tried = 0; tried < placements.length; tried += 1) {
      const { job, slot } = placements[next]!;
      next = (next + 1) % placements.length;
      if (job.id === id && job.endpointId === endpointId) return slot;
    }
    throw new Error(`the database stored job ${id}, which was not given`);
  };
  return rows.map((row) => {
    const slot = slotOf(row);
    const job = newJob(row, slot);
    return { job, position: row.position, claimId: slot ? claimId : null };
  });
}

function newJob({ endpoint_id: endpointId, id, submitted_ms: submittedAtMs }: InsertedRow, slot?: WorkerSlot): Job {
  return {
    id,
    endpointId,
    state: slot ? 'IN_PROGRESS' : 'IN_QUEUE',
    output: undefined,
    error: undefined,
    attempt: slot ? 1 : 0,
    retries: 0,
    workerId: slot?.workerId,
    submittedAtMs,
    finishedAtMs: undefined,
    delayMs: slot ? 0 : undefined,
    executionMs: undefined,
  };
}

/** Parts of the insert that store metadata. All are empty if no job has any: then the statement has none of them. */
interface DescribedJobs {
  /** The row set `described`: endpoint_id, id, metadata. */
  rows: Fragment;
  /** Column of job_input, its value, and the join that the value needs. */
  column: Fragment;
  value: Fragment;
  joined: Fragment;
  /** Inserts the pairs of the jobs in `stored`. */
  pairs: Fragment;
}

/** Returns the parts of the insert of these jobs. */
function describedJobs(sql: Sql, jobs: readonly NewJob[]): DescribedJobs {
  const described = jobs.filter(({ metadata }) => metadata !== undefined);
  if (described.length === 0) return { rows: sql``, column: sql``, value: sql``, joined: sql``, pairs: sql`` };
  return {
    rows: sql`, described AS MATERIALIZED (
      SELECT * FROM unnest(${textArray(described.map(({ endpointId }) => endpointId))}::text[],
        ${textArray(described.map(({ id }) => id))}::text[],
        ${textArray(described.map(({ metadata }) => metadata))}::text[]) AS d(endpoint_id, id, metadata)
    )`,
    column: sql`, metadata`,
    value: sql`, d.metadata`,
    joined: sql` LEFT JOIN described d ON d.endpoint_id = g.endpoint_id AND d.id = g.id`,
    pairs: sql`, pairs AS (
      INSERT INTO job_metadata (endpoint_id, job_id, key, value, position)
      SELECT s.endpoint_id, s.id, p.key, p.value, s.position
      FROM described d JOIN stored s ON s.endpoint_id = d.endpoint_id AND s.id = d.id
      CROSS JOIN LATERAL json_each_text(d.metadata::json) AS p
    )`,
  };
}

/** Returns the job of a row. */
export function storedFromRow(row: StoredRow): StoredJob {
  return { job: jobFromRow(row), position: row.position, claimId: row.claim_id };
}

/** Returns jobs as a row set. */
function many(
  sql: Sql,
  placements: readonly JobWithSlot[],
  { input, sealed, webhook }: Record<'input' | 'sealed' | 'webhook', PackedBytes>,
): Fragment {
  const jobs = placements.map((placement) => placement.job);
  return sql`unnest(
    ${textArray(jobs.map((job) => job.endpointId))}::text[], ${textArray(jobs.map((job) => job.id))}::text[],
    ${flagArray(jobs.map((job) => job.lowPriority))}::boolean[],
    ${numberArray(jobs.map((job) => job.executionTimeoutMs))}::bigint[],
    ${numberArray(jobs.map((job) => job.retentionMs))}::bigint[],
    ${numberArray(jobs.map((job) => job.ttlMs))}::bigint[],
    ${input.starts}::int[], ${input.lengths}::int[], ${webhook.starts}::int[], ${webhook.lengths}::int[],
    ${sealed.starts}::int[], ${sealed.lengths}::int[],
    ${textArray(placements.map((placement) => placement.slot?.workerId))}::text[],
    ${textArray(placements.map((placement) => placement.slot?.machineId))}::text[],
    ${textArray(jobs.map((job) => job.traceparent))}::text[],
    ${textArray(jobs.map((job) => job.batchId))}::text[]
  )`;
}

/** Returns a single job as VALUES: the planner inlines them, so that no row set is made. */
function one(sql: Sql, { job, slot }: JobWithSlot): Fragment {
  return sql`(VALUES (${job.endpointId}::text, ${job.id}::text, ${job.lowPriority}::boolean,
    ${job.executionTimeoutMs}::bigint, ${job.retentionMs}::bigint,
    ${job.ttlMs}::bigint, 1, ${job.input.length}::int, 1, ${job.webhookSealed?.length ?? null}::int, 1,
    ${job.s3ConfigSealed?.length ?? null}::int,
    ${slot?.workerId ?? null}::text, ${slot?.machineId ?? null}::text, ${job.traceparent ?? null}::text,
    ${job.batchId ?? null}::text))`;
}
