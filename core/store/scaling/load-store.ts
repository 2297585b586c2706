/** Samples of the load of all endpoints: written by one replica, read for charts. */
import type { LoadPeriod, LoadRecord, SampledLoad, StoredLoad } from '../../domain/scaling/load-history.ts';
import { LOAD_GAP_MS, LOAD_REPEAT_MS } from '../../domain/scaling/load-history.ts';
import { TRAFFIC_KEPT_HOURS } from '../../domain/scaling/traffic.ts';
import type { RunningJobs } from '../jobs/running-jobs.ts';
import type { Database } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';

/** Largest stored number of waiting or running requests. Facades report them: any number may come. */
const COUNT_MAX = 1_000_000_000;
/** How long samples are kept: a chart also needs the last one before it begins. In milliseconds. */
const KEPT_MS = TRAFFIC_KEPT_HOURS * 3_600_000 + LOAD_REPEAT_MS + LOAD_GAP_MS;

export class LoadStore {
  readonly #database: Database;
  readonly #running: RunningJobs;

  constructor(database: Database, running: RunningJobs) {
    this.#database = database;
    this.#running = running;
  }

  /** Returns the present load of all endpoints that have any. */
  async current(): Promise<SampledLoad[]> {
    const loads = await this.#database.sql<SampledLoad[]>`
      SELECT "endpointId", least(sum(queued), ${COUNT_MAX}::int)::int AS queued,
        least(sum(running), ${COUNT_MAX}::int)::int AS running, sum(workers)::int AS workers FROM (
        SELECT endpoint_id AS "endpointId", greatest(sum(queued), 0) AS queued, 0 AS running, 0 AS workers
        FROM endpoint_tally GROUP BY endpoint_id HAVING sum(queued) > 0
        UNION ALL
        SELECT endpoint_id, sum(waiting),
          coalesce(sum((SELECT sum(n) FROM unnest(in_flight) AS n)), 0), 0 FROM endpoint_demand
        WHERE reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms' GROUP BY endpoint_id
        UNION ALL
        SELECT endpoint_id, 0, 0, count(*) FROM worker WHERE ended_at IS NULL AND endpoint_id <> ''
          AND state IN ('INITIALIZING', 'READY', 'DRAINING') GROUP BY endpoint_id
      ) AS part GROUP BY "endpointId"`;
    const held = await this.#heldBy(loads.filter(({ workers }) => workers > 0).map(({ endpointId }) => endpointId));
    return loads
      .map((load) => ({ ...load, running: load.running + (held.get(load.endpointId) ?? 0) }))
      .filter(({ queued, running, workers }) => queued + running + workers > 0);
  }

  async #heldBy(endpointIds: readonly string[]): Promise<Map<string, number>> {
    if (endpointIds.length === 0) return new Map();
    const held = await this.#running.heldBy(endpointIds);
    return new Map([...held].map(([id, workers]) => [id, workers.reduce((sum, worker) => sum + worker.held, 0)]));
  }

  /** Begins a period with the load of all endpoints. Returns its id. */
  async begin(loads: readonly SampledLoad[]): Promise<number> {
    const [row] = await this.#database.sql<[{ id: number }]>`
      WITH period AS (INSERT INTO load_period DEFAULT VALUES RETURNING id), rows AS (
        INSERT INTO endpoint_load (endpoint_id, period_id, queued, running, workers)
        SELECT s."endpointId", p.id, s.queued, s.running, s.workers
        FROM period p, jsonb_to_recordset(${JSON.stringify(loads)}::text::jsonb)
          AS s ("endpointId" text, queued int, running int, workers int)
      ) SELECT id FROM period`;
    return row.id;
  }

  /** Adds a sample to a period: the loads that changed. */
  async extend(periodId: number, changed: readonly SampledLoad[]): Promise<void> {
    await this.#database.sql`
      WITH period AS (UPDATE load_period SET sampled_at = now() WHERE id = ${periodId} RETURNING id)
      INSERT INTO endpoint_load (endpoint_id, period_id, queued, running, workers)
      SELECT s."endpointId", p.id, s.queued, s.running, s.workers
      FROM period p, jsonb_to_recordset(${JSON.stringify(changed)}::text::jsonb)
        AS s ("endpointId" text, queued int, running int, workers int)`;
  }

  /** Returns what is stored of an endpoint for a chart that begins `spanMs` milliseconds ago. */
  async record(endpointId: string, spanMs: number): Promise<LoadRecord> {
    const { sql } = this.#database;
    const since = sql`now() - ${spanMs + LOAD_REPEAT_MS + LOAD_GAP_MS}::float8 * interval '1 ms'`;
    const ms = (column: string) => sql`floor(extract(epoch FROM ${sql(column)}) * 1000)::float8`;
    const [periods, rows, [facts]] = await Promise.all([
      sql<LoadPeriod[]>`
        SELECT id, ${ms('started_at')} AS "startedMs", ${ms('sampled_at')} AS "sampledMs" FROM load_period
        WHERE sampled_at > ${since} ORDER BY started_at, id`,
      sql<StoredLoad[]>`
        SELECT period_id AS "periodId", ${ms('sampled_at')} AS "atMs", queued, running, workers FROM endpoint_load
        WHERE endpoint_id = ${endpointId} AND sampled_at > ${since} ORDER BY sampled_at`,
      sql<{ createdMs: number; nowMs: number }[]>`
        SELECT ${ms('created_at')} AS "createdMs", floor(extract(epoch FROM now()) * 1000)::float8 AS "nowMs"
        FROM endpoint WHERE id = ${endpointId}`,
    ]);
    return { periods, rows, createdMs: facts?.createdMs ?? 0, nowMs: facts?.nowMs ?? 0 };
  }

  /** Deletes up to `limit` old samples, and old periods. Returns the number of samples. */
  async reap(limit: number): Promise<number> {
    const { sql } = this.#database;
    const old = sql`now() - ${KEPT_MS}::float8 * interval '1 ms'`;
    await sql`DELETE FROM load_period WHERE sampled_at < ${old}`;
    const rows = await sql`
      DELETE FROM endpoint_load WHERE ctid IN (
        SELECT ctid FROM endpoint_load WHERE sampled_at < ${old} ORDER BY sampled_at LIMIT ${limit})`;
    return rows.count;
  }
}
