/** Puts jobs into the queue: one statement for many, with their inputs, and the claim of those that have a free worker waiting. */
import type { Job } from '../domain/job.ts';
import type { Sql } from './database.ts';
import { flagArray, numberArray, packBytes, textArray } from './pack.ts';
import { isLive, jobColumns, jobFromRow } from './rows.ts';
import type { JobRow } from './rows.ts';

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
}

/** A job to insert, with the worker that takes it at once when there is one. */
export interface Placement {
  job: NewJob;
  slot: { workerId: string; machineId: string } | undefined;
}

/** A job that is in the table. */
export interface StoredJob {
  job: Job;
  position: number;
  /** The claim that holds it; null while nobody does. */
  claimId: string | null;
}

interface StoredRow extends JobRow {
  position: number;
  claim_id: string | null;
}

/**
 * Inserts jobs, in order, and returns those that are new; one whose id exists already is left as it is. A job with a slot is inserted as
 * attempt 1, IN_PROGRESS, under `claimId`. Saying it again is harmless.
 */
export async function insertJobs(sql: Sql, placements: readonly Placement[], claimId: string): Promise<StoredJob[]> {
  const jobs = placements.map((placement) => placement.job);
  const input = packBytes(jobs.map((job) => job.input));
  const sealed = packBytes(jobs.map((job) => job.s3ConfigSealed));
  const webhook = packBytes(jobs.map((job) => job.webhookSealed));
  const rows = await sql<StoredRow[]>`
    WITH given AS (
      SELECT * FROM unnest(
        ${textArray(jobs.map((job) => job.endpointId))}::text[], ${textArray(jobs.map((job) => job.id))}::text[],
        ${flagArray(jobs.map((job) => job.lowPriority))}::boolean[], ${numberArray(jobs.map((job) => job.executionTimeoutMs))}::bigint[],
        ${numberArray(jobs.map((job) => job.retentionMs))}::bigint[], ${numberArray(jobs.map((job) => job.ttlMs))}::bigint[],
        ${input.starts}::int[], ${input.lengths}::int[], ${webhook.starts}::int[], ${webhook.lengths}::int[],
        ${sealed.starts}::int[], ${sealed.lengths}::int[],
        ${textArray(placements.map((placement) => placement.slot?.workerId))}::text[],
        ${textArray(placements.map((placement) => placement.slot?.machineId))}::text[]
      ) AS g(endpoint_id, id, low_priority, execution_timeout_ms, retention_ms, ttl_ms, input_start, input_length, webhook_start,
        webhook_length, sealed_start, sealed_length, worker_id, machine_id)
    ), payload AS (
      INSERT INTO job_input (endpoint_id, job_id, input, webhook_sealed, s3_config_sealed)
      SELECT g.endpoint_id, g.id, substring(${input.blob}::bytea FROM g.input_start FOR g.input_length),
        substring(${webhook.blob}::bytea FROM g.webhook_start FOR g.webhook_length), substring(${sealed.blob}::bytea FROM g.sealed_start FOR g.sealed_length)
      FROM given g ON CONFLICT (endpoint_id, job_id) DO NOTHING
    )
    INSERT INTO job AS j (endpoint_id, id, state, low_priority, attempt, machine_id, worker_id, claim_id, has_webhook, execution_timeout_ms,
      retention_ms, submitted_at, started_at, execution_deadline_at, ttl_deadline_at, expires_at)
    SELECT g.endpoint_id, g.id, CASE WHEN g.worker_id IS NULL THEN 'IN_QUEUE' ELSE 'IN_PROGRESS' END, g.low_priority,
      CASE WHEN g.worker_id IS NULL THEN 0 ELSE 1 END, g.machine_id, g.worker_id,
      CASE WHEN g.worker_id IS NOT NULL THEN ${claimId}::uuid END, g.webhook_length IS NOT NULL, g.execution_timeout_ms, g.retention_ms, now(),
      CASE WHEN g.worker_id IS NOT NULL THEN now() END,
      CASE WHEN g.worker_id IS NOT NULL THEN now() + g.execution_timeout_ms * interval '1 ms' END,
      now() + g.ttl_ms * interval '1 ms', now() + g.ttl_ms * interval '1 ms'
    FROM given g ON CONFLICT (endpoint_id, id) DO NOTHING
    RETURNING ${jobColumns(sql)}, j.position, j.claim_id`;
  return rows.map(storedFromRow);
}

/** Reads jobs that were there before. Expired ones are gone. */
export async function readStoredJobs(sql: Sql, keys: readonly { endpointId: string; id: string }[]): Promise<StoredJob[]> {
  const rows = await sql<StoredRow[]>`
    SELECT ${jobColumns(sql)}, j.position, j.claim_id
    FROM unnest(${textArray(keys.map((key) => key.endpointId))}::text[], ${textArray(keys.map((key) => key.id))}::text[]) AS g(endpoint_id, id)
    JOIN job j ON j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id
    WHERE ${isLive(sql)}`;
  return rows.map(storedFromRow);
}

function storedFromRow(row: StoredRow): StoredJob {
  return { job: jobFromRow(row), position: row.position, claimId: row.claim_id };
}
