/** Ends jobs that ran too long, in bounded batches. Several replicas share the work without waiting for each other. */
import { TIME_OUT_TEXT } from '../../domain/jobs/attempt-outcome.ts';
import type { Job } from '../../domain/jobs/job.ts';
import type { Database, Sql } from '../sql/database.ts';
import { sideEffects } from './outcome-side-effects.ts';
import type { JobRow } from './rows.ts';
import { isLive, jobColumns, jobFromRow } from './rows.ts';
import { ScanStart } from './scan-start.ts';

/** A job that a singleton task ended, and the machine that held its attempt. */
interface EndedJob {
  job: Job;
  machineId: string;
}

/** Scan id that all jobs share. */
const ALL = '';

export class DeadlineStore {
  readonly #hot: Sql;
  /** No deadline is set in the past. */
  readonly #start: ScanStart;

  /** `marginMs`: see ScanStart. */
  constructor({ hot }: Pick<Database, 'hot'>, marginMs?: number) {
    this.#hot = hot;
    this.#start = new ScanStart(marginMs);
  }

  /**
   * Moves up to `limit` jobs whose execution deadline has passed to TIMED_OUT, starting with the one that `nextMs`
   * found.
   */
  async timeOut(limit: number): Promise<EndedJob[]> {
    const rows = await this.#hot<(JobRow & { machine_id: string })[]>`
      WITH due AS MATERIALIZED (
        SELECT endpoint_id, id FROM job WHERE state = 'IN_PROGRESS' AND execution_deadline_at <= now()
          AND execution_deadline_at >= to_timestamp(${this.#start.sinceMs(ALL)}::float8 / 1000)
        ORDER BY execution_deadline_at LIMIT ${limit}::int FOR UPDATE SKIP LOCKED
      ), moved AS (
        UPDATE job j SET state = 'TIMED_OUT', finished_at = now(), execution_deadline_at = NULL, claim_id = NULL,
          expires_at = least(j.ttl_deadline_at, now() + j.retention_ms * interval '1 ms')
        FROM due d WHERE j.endpoint_id = ANY(ARRAY[d.endpoint_id]) AND j.id = d.id AND ${isLive(this.#hot)}
        RETURNING ${jobColumns(this.#hot)}, j.machine_id, j.has_webhook, j.low_priority, false AS counted,
          NULL::bytea AS output,
          replace(${TIME_OUT_TEXT}::text, '{ms}', j.execution_timeout_ms::text) AS error
      ) ${sideEffects(this.#hot, { queues: false })}
      SELECT endpoint_id, id, state, attempt, retries, worker_id, submitted_ms, finished_ms, delay_ms, execution_ms,
        error, machine_id FROM moved`;
    return rows.map((row) => ({ job: jobFromRow(row), machineId: row.machine_id }));
  }

  /**
   * Returns the milliseconds until the next execution deadline within the next `withinMs`. `undefined` if there is
   * none.
   */
  async nextMs(withinMs: number): Promise<number | undefined> {
    const sql = this.#hot;
    const [row] = await sql<{ ms: number | null; at_ms: number | null; now_ms: number; took_ms: number }[]>`
      SELECT (extract(epoch FROM d.at - clock_timestamp()) * 1000)::float8 AS ms,
        (extract(epoch FROM d.at) * 1000)::float8 AS at_ms,
        (extract(epoch FROM now()) * 1000)::float8 AS now_ms,
        (extract(epoch FROM clock_timestamp() - now()) * 1000)::float8 AS took_ms
      FROM unnest(${this.#start.columns(sql, [ALL])}) AS k (since_ms, full_due_ms) LEFT JOIN LATERAL (
        SELECT execution_deadline_at AS at FROM job
        WHERE state = 'IN_PROGRESS' AND execution_deadline_at >= ${this.#start.from(sql, sql`k`)}
          AND execution_deadline_at <= now() + ${withinMs}::int * interval '1 ms'
        ORDER BY execution_deadline_at LIMIT 1) AS d ON true`;
    const { ms, at_ms: atMs, now_ms: nowMs, took_ms: tookMs } = row!;
    this.#start.learn(ALL, { nowMs, tookMs, oldestMs: atMs ?? undefined });
    return ms ?? undefined;
  }
}
