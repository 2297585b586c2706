/** Reads counts for callers, and the facts of endpoints that the hot path needs. */
import type { HealthWorker } from '../../domain/scaling/worker-counts.ts';
import type { Database, Sql } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';
import { numberArray, textArray } from '../sql/pack.ts';
import type { RunningJobs } from './running-jobs.ts';

/** Facts of an endpoint that submissions and outcomes need. */
export interface EndpointFacts {
  id: string;
  accountId: string;
  accountName: string;
  type: 'QB' | 'LB';
  executionTimeoutMs: number;
  retryLimit: number;
  retryHandlerErrors: boolean;
  /** True if no job may run before it is stored. */
  durableBeforeRun: boolean;
  workersMax: number;
  /** Most jobs that may wait in all queues of the account. Null: no limit. */
  queuedJobQuota: number | null;
}

interface FactsRow {
  id: string;
  account_id: string;
  account_name: string;
  type: 'QB' | 'LB';
  execution_timeout_ms: number;
  retry_limit: number;
  retry_handler_errors: boolean;
  durable_before_run: boolean;
  workers_max: number;
  queued_job_quota: number | null;
}

/** Counts of an endpoint. */
export interface EndpointCounts {
  completed: number;
  failed: number;
  retried: number;
  inQueue: number;
  inProgress: number;
  type: 'QB' | 'LB';
  /** Workers that have not ended. */
  workers: HealthWorker[];
  workersMax: number;
  /** From the scaler's latest decision; 0 and empty if there is none yet. */
  decidedThrottled: number;
  refusal: string;
  refusalByMachine: string;
}

export class CountStore {
  readonly #sql: Sql;
  readonly #hot: Sql;
  readonly #running: RunningJobs;

  constructor({ sql, hot }: Pick<Database, 'sql' | 'hot'>, running: RunningJobs) {
    this.#sql = sql;
    this.#hot = hot;
    this.#running = running;
  }

  /** Reads facts of endpoints, in order, `undefined` for an endpoint that does not exist. */
  async endpointFacts(endpointIds: readonly string[]): Promise<(EndpointFacts | undefined)[]> {
    const rows = await this.#sql<FactsRow[]>`
      SELECT e.id, e.account_id, a.name AS account_name, e.type, e.execution_timeout_ms, e.retry_limit,
        e.retry_handler_errors, e.durable_before_run, e.workers_max,
        a.queued_job_quota
      FROM endpoint e JOIN account a ON a.id = e.account_id WHERE e.id = ANY(${textArray(endpointIds)}::text[])`;
    const found = new Map(rows.map((row) => [row.id, factsOf(row)]));
    return endpointIds.map((id) => found.get(id));
  }

  /** Returns the number of queued jobs of each endpoint, in order. */
  async queued(endpointIds: readonly string[]): Promise<number[]> {
    const rows = await this.#hot<{ index: number; count: number }[]>`
      SELECT g.index, (SELECT greatest(coalesce(sum(queued), 0), 0)::bigint FROM endpoint_tally
        WHERE endpoint_id = g.id) AS count
      FROM unnest(${textArray(endpointIds)}::text[]) WITH ORDINALITY AS g(id, index)`;
    const counts = new Map(rows.map(({ index, count }) => [index, count]));
    return endpointIds.map((_, index) => counts.get(index + 1)!);
  }

  /** Returns the number of queued jobs of all endpoints of an account. */
  async queuedOfAccount(accountId: string): Promise<number> {
    const [row] = await this.#hot<{ count: number }[]>`
      SELECT greatest(coalesce(sum(t.queued), 0), 0)::bigint AS count
      FROM endpoint e JOIN endpoint_tally t ON t.endpoint_id = e.id WHERE e.account_id = ${accountId}`;
    return row!.count;
  }

  /**
   * Counts the queues and corrects counters that differ, for instance those of a release without counters. Deletes
   * counters of deleted endpoints. One snapshot reads jobs and counters, and only the difference is added, so
   * concurrent changes are kept. Returns how many differed.
   */
  async recount(): Promise<number> {
    const corrected = await this.#hot`
      INSERT INTO endpoint_tally AS t (endpoint_id, slot, queued, queued_low)
      SELECT e.id, 0, j.queued - k.queued, j.low - k.low FROM endpoint e
      CROSS JOIN LATERAL (SELECT count(*) AS queued, count(*) FILTER (WHERE low_priority) AS low FROM (
        SELECT low_priority FROM job WHERE endpoint_id = e.id AND state = 'IN_QUEUE'
          ORDER BY low_priority, position) AS q) AS j
      CROSS JOIN LATERAL (SELECT coalesce(sum(queued), 0) AS queued, coalesce(sum(queued_low), 0) AS low
        FROM endpoint_tally WHERE endpoint_id = e.id) AS k
      WHERE (j.queued, j.low) <> (k.queued, k.low) ORDER BY e.id
      ON CONFLICT (endpoint_id, slot) DO UPDATE SET queued = t.queued + excluded.queued,
        queued_low = t.queued_low + excluded.queued_low`;
    await this.#hot`DELETE FROM endpoint_tally t WHERE NOT EXISTS (SELECT FROM endpoint e WHERE e.id = t.endpoint_id)`;
    return corrected.count;
  }

  /**
   * Counts an endpoint's jobs and workers. Expired jobs count until they are reaped. Returns `undefined` if the
   * endpoint does not exist.
   */
  async health(endpointId: string): Promise<EndpointCounts | undefined> {
    const attempts = (await this.#running.heldBy([endpointId])).get(endpointId) ?? [];
    const [row] = await this.#sql<EndpointCounts[]>`
      WITH demand AS (
        SELECT waiting, worker_ids, in_flight FROM endpoint_demand
        WHERE endpoint_id = ${endpointId} AND reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'
      ), held AS (
        SELECT * FROM unnest(${textArray(attempts.map(({ workerId }) => workerId))}::text[],
          ${numberArray(attempts.map(({ held }) => held))}::bigint[])
          AS j (worker_id, attempts)
        UNION ALL SELECT u.id, sum(u.requests) FROM demand d CROSS
          JOIN unnest(d.worker_ids, d.in_flight) AS u (id, requests) GROUP BY u.id
      ), seen AS (
        SELECT w.address, w.health, w.state, w.desired, w.capacity, coalesce(h.attempts, 0) AS held
        FROM worker w LEFT JOIN held h ON h.worker_id = w.id WHERE w.endpoint_id = ${endpointId} AND w.ended_at IS NULL
          AND w.endpoint_id <> ''
      )
      SELECT coalesce(c.completed, 0) + t.completed AS completed, coalesce(c.failed, 0) + t.failed AS failed,
        coalesce(c.retried, 0) + t.retried AS retried, greatest(t.queued, 0) + (SELECT coalesce(sum(waiting), 0)::bigint
          FROM demand) AS "inQueue",
        (SELECT coalesce(sum(attempts), 0)::bigint FROM held) AS "inProgress",
        e.type, coalesce((SELECT jsonb_agg(to_jsonb(seen)) FROM seen), '[]') AS workers,
        e.workers_max AS "workersMax",
        coalesce(d.throttled, 0) AS "decidedThrottled", coalesce(d.refusal, '') AS refusal,
        coalesce(d.refusal_by_machine, '') AS "refusalByMachine"
      FROM endpoint e CROSS JOIN (
          SELECT coalesce(sum(completed), 0)::bigint AS completed, coalesce(sum(failed), 0)::bigint AS failed,
            coalesce(sum(retried), 0)::bigint AS retried,
            coalesce(sum(queued), 0)::bigint AS queued FROM endpoint_tally WHERE endpoint_id = ${endpointId}
        ) AS t
        LEFT JOIN endpoint_counter c ON c.endpoint_id = e.id LEFT JOIN scale_decision d ON d.endpoint_id = e.id
      WHERE e.id = ${endpointId}`;
    return row;
  }
}

function factsOf(row: FactsRow): EndpointFacts {
  return {
    id: row.id,
    accountId: row.account_id,
    accountName: row.account_name,
    type: row.type,
    executionTimeoutMs: row.execution_timeout_ms,
    retryLimit: row.retry_limit,
    retryHandlerErrors: row.retry_handler_errors,
    durableBeforeRun: row.durable_before_run,
    workersMax: row.workers_max,
    queuedJobQuota: row.queued_job_quota,
  };
}
