/**
 * Records outcomes, many in one statement, with output, webhook and counters. Each is guarded by its attempt number.
 */
import type { OutcomeRule } from '../../domain/jobs/attempt-outcome.ts';
import type { Job } from '../../domain/jobs/job.ts';
import type { Database, Fragment, Sql } from '../sql/database.ts';
import type { PackedBytes } from '../sql/pack.ts';
import { flagArray, numberArray, packBytes, storableText, textArray } from '../sql/pack.ts';
import { remembered } from './lost-attempt-rows.ts';
import { sideEffects } from './outcome-side-effects.ts';
import type { JobRow } from './rows.ts';
import { isLive, isRunning, jobColumns, jobFromRow } from './rows.ts';

/** An outcome to record. */
export interface OutcomeEntry {
  endpointId: string;
  jobId: string;
  attempt: number;
  /** The machine of the attempt. */
  machineId: string;
  rule: OutcomeRule;
  output: Buffer | undefined;
  /** `undefined` for a completed job. */
  error: string | undefined;
  /** Keeps the attempt in the job's history: always, or only if the job is retried. Absent: never. */
  remembered?: 'ALWAYS' | 'IF_TRIED_AGAIN';
  /** Execution time in milliseconds; `undefined` counts from the claim. */
  executionMs?: number;
  /** True if its worker ran out of memory. */
  outOfMemory?: boolean;
}

/** An outcome that changed its job. */
export interface RecordedOutcome {
  /** Index of the entry. */
  index: number;
  /** As stored, without output. */
  job: Job;
  /** Queue position, for a job that was queued again. */
  position: number;
  /** True if the job has a webhook. */
  hasWebhook: boolean;
  lowPriority: boolean;
}

/** Columns that the statement returns: core knows the others already. */
interface RecordedRow extends Omit<JobRow, 'endpoint_id' | 'id' | 'attempt' | 'error' | 'output'> {
  index: number;
  position: number;
  has_webhook: boolean;
  low_priority: boolean;
}

export class OutcomeStore {
  readonly #hot: Sql;

  constructor({ hot }: Pick<Database, 'hot'>) {
    this.#hot = hot;
  }

  /**
   * Records outcomes. Returns the outcomes that changed something. An outcome changes nothing if its attempt is not
   * current or not that machine's, or if its job is not IN_PROGRESS or has expired. Entries must be ordered by
   * (endpointId, jobId), so that two statements never deadlock.
   */
  async record(entries: readonly OutcomeEntry[]): Promise<RecordedOutcome[]> {
    const output = packBytes(entries.map((entry) => entry.output));
    const isOne = entries.length === 1;
    // A separate statement, so that history costs nothing if nothing is lost.
    const history = entries.some((entry) => entry.remembered !== undefined) ? remembered(this.#hot) : this.#hot``;
    const queues = entries.some((entry) => entry.rule.requeueBelow > 0);
    const rows = await this.#hot<RecordedRow[]>`
      WITH moved AS (
        UPDATE job j SET
          state = CASE WHEN j.retries < g.requeue_below THEN 'IN_QUEUE' ELSE g.final END,
          retries = j.retries + CASE WHEN g.counted AND j.retries < g.requeue_below THEN 1 ELSE 0 END,
          started_at = CASE WHEN j.retries < g.requeue_below THEN NULL
            ELSE greatest(j.started_at, now() - nullif(g.execution_ms, -1) * interval '1 ms') END,
          finished_at = CASE WHEN j.retries < g.requeue_below THEN NULL ELSE now() END,
          machine_id = CASE WHEN j.retries < g.requeue_below THEN NULL ELSE j.machine_id END,
          execution_deadline_at = NULL, claim_id = NULL,
          expires_at = CASE WHEN j.retries < g.requeue_below THEN j.expires_at
            ELSE least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms') END
        FROM ${isOne ? one(this.#hot, entries[0]!) : many(this.#hot, entries, output)}
          AS g(index, endpoint_id, id, attempt, requeue_below, counted, final, output_start, output_length, error,
            machine_id, remembered,
          execution_ms)
        WHERE j.endpoint_id = ANY(ARRAY[g.endpoint_id]) AND j.id = g.id AND j.attempt = g.attempt
          AND j.machine_id = g.machine_id
          AND ${isRunning(this.#hot)} AND ${isLive(this.#hot)}
        RETURNING ${jobColumns(this.#hot)}, j.position, j.has_webhook, j.low_priority, g.index, g.counted, g.error,
          g.machine_id, g.remembered,
          substring(${output.blob}::bytea FROM g.output_start FOR g.output_length) AS output
      ) ${sideEffects(this.#hot, { queues, isOne })}${history}
      SELECT state, retries, worker_id, submitted_ms, finished_ms, delay_ms, execution_ms, position, index,
        has_webhook, low_priority FROM moved`;
    return rows.map((row) => {
      const { endpointId, jobId, attempt, error } = entries[row.index]!;
      const known = { endpoint_id: endpointId, id: jobId, attempt, error: error && storableText(error) };
      return {
        index: row.index,
        position: row.position,
        hasWebhook: row.has_webhook,
        lowPriority: row.low_priority,
        job: jobFromRow({ ...row, ...known }),
      };
    });
  }
}

/** Returns entries as a row set. */
function many(sql: Sql, entries: readonly OutcomeEntry[], output: PackedBytes): Fragment {
  return sql`unnest(
    ${numberArray(entries.map((_, index) => index))}::int[],
    ${textArray(entries.map((entry) => entry.endpointId))}::text[],
    ${textArray(entries.map((entry) => entry.jobId))}::text[],
    ${numberArray(entries.map((entry) => entry.attempt))}::int[],
    ${numberArray(entries.map((entry) => entry.rule.requeueBelow))}::int[],
    ${flagArray(entries.map((entry) => entry.rule.counted))}::boolean[],
    ${textArray(entries.map((entry) => entry.rule.final))}::text[], ${output.starts}::int[], ${output.lengths}::int[],
    ${textArray(entries.map((entry) => entry.error && storableText(entry.error)))}::text[],
    ${textArray(entries.map((entry) => entry.machineId))}::text[],
    ${textArray(entries.map((entry) => entry.remembered ?? ''))}::text[],
    ${numberArray(entries.map((entry) => entry.executionMs ?? -1))}::bigint[]
  )`;
}

/** Returns a single entry as VALUES: the planner inlines them, so that no row set is made and joined. */
function one(
  sql: Sql,
  { endpointId, jobId, attempt, rule, output, error, machineId, executionMs, ...entry }: OutcomeEntry,
): Fragment {
  return sql`(VALUES (0, ${endpointId}::text, ${jobId}::text, ${attempt}::int, ${rule.requeueBelow}::int,
    ${rule.counted}::boolean,
    ${rule.final}::text, 1, ${output?.length ?? null}::int, ${error === undefined ? null : storableText(error)}::text,
    ${machineId}::text,
    ${entry.remembered ?? ''}::text, ${executionMs ?? -1}::bigint))`;
}
