/**
 * Reads the metrics of the whole installation, in two statements whatever its size: as of now, and the same at every
 * replica.
 */

import type { RunningJobs } from '../jobs/running-jobs.ts';
import type { Database, Sql } from '../sql/database.ts';
import { onPoolWait } from '../sql/database.ts';
import { DEMAND_VALID_MS } from '../sql/demand-rows.ts';
import { oldestWaitMs } from './queue-age.ts';

/** Counts of the whole installation. */
export interface FleetCounts {
  endpoints: EndpointLoad[];
  machines: MachineCounts;
}

/** Jobs and workers of one endpoint. */
export interface EndpointLoad {
  id: string;
  name: string;
  /** Jobs in the queue; for a load-balancing endpoint, waiting requests. */
  queued: number;
  /** Wait of the first job of the queue, in milliseconds. 0: none waits. */
  oldestWaitMs: number;
  /** Attempts that were given to workers. */
  inProgress: number;
  /** Living workers by state. */
  workers: Partial<Record<'INITIALIZING' | 'READY' | 'FROZEN' | 'DRAINING' | 'UNHEALTHY' | 'STOPPED', number>>;
  /** True if its released version does not start and an earlier one serves (core/domain/scaling/rollout.ts). */
  releaseHeld: boolean;
}

/** Machines that were seen in the last day, and the GPUs of connected ones. */
interface MachineCounts {
  connected: number;
  away: number;
  cordoned: number;
  gpusUsed: number;
  gpusFree: number;
  gpusUnhealthy: number;
  /** GPUs with a warning. They also count as used or free. */
  gpusWarning: number;
}

export class MetricStore {
  readonly #hot: Sql;
  readonly #pools: Readonly<Record<'general' | 'engine' | 'urgent', Sql>>;
  readonly #running: RunningJobs;

  constructor({ sql, hot, urgent }: Pick<Database, 'sql' | 'hot' | 'urgent'>, running: RunningJobs) {
    this.#pools = { general: sql, engine: hot, urgent: urgent.sql };
    this.#hot = hot;
    this.#running = running;
  }

  /** Reports for each statement how long it waited for a connection of its pool. */
  onPoolWait(listenerOf: (pool: string) => (waitedMs: number) => void): void {
    for (const [pool, sql] of Object.entries(this.#pools)) onPoolWait(sql, listenerOf(pool));
  }

  /** Pings the database over each connection pool, at once. Calls `answered` for each response. */
  async touchPools(answered: (pool: string) => void): Promise<void> {
    await Promise.all(
      Object.entries(this.#pools).map(async ([pool, sql]) => {
        await sql`SELECT 1`;
        answered(pool);
      }),
    );
  }

  /**
   * Returns the counts of the whole installation. Runs on the hot pool, which plans with indexes: no queue is scanned,
   * its length is in the counters (core/store/jobs/endpoint-counters.ts), and the search for its first job begins after
   * the last claim.
   */
  async fleet(): Promise<FleetCounts> {
    const [row] = await this.#hot<[FleetCounts]>`
      WITH gpu AS (
        SELECT coalesce(g.value ->> 'unhealthy', '') <> '' AS unhealthy,
          coalesce(g.value ->> 'warning', '') <> '' AS warning, h.gpu_uuid IS NOT NULL
          OR coalesce(g.value ->> 'occupiedBy', '') <> '' AS used
        FROM machine m CROSS JOIN LATERAL jsonb_array_elements(m.gpus) AS g
          LEFT JOIN gpu_hold h ON h.machine_id = m.id AND h.gpu_uuid = g.value ->> 'uuid'
        WHERE m.session_id IS NOT NULL AND m.lease_expires_at > now()
      )
      SELECT (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', e.id, 'name', e.name, 'queued',
          greatest(t.queued, 0) + coalesce(d.waiting, 0), 'oldestWaitMs',
          ${oldestWaitMs(this.#hot)}, 'inProgress', coalesce(d.in_flight, 0), 'workers', coalesce(w.states, '{}'),
          'releaseHeld', EXISTS (SELECT FROM endpoint_rollout r
            WHERE r.endpoint_id = e.id AND r.version = e.version AND r.state = 'HELD' AND r.good_version IS NOT NULL))),
              '[]')
        FROM endpoint e
        CROSS JOIN LATERAL (SELECT coalesce(sum(queued), 0)::bigint AS queued,
          coalesce(max(claimed_to), 0) AS claimed_to
          FROM endpoint_tally WHERE endpoint_id = e.id) AS t
        CROSS JOIN LATERAL (SELECT jsonb_object_agg(state, count) AS states FROM (
          SELECT state, count(*) AS count FROM worker WHERE endpoint_id = e.id AND ended_at IS NULL
            AND endpoint_id <> '' GROUP BY state) AS s) AS w
        CROSS JOIN LATERAL (SELECT sum(waiting)::bigint AS waiting,
          sum((SELECT sum(n) FROM unnest(in_flight) AS n))::bigint AS in_flight
          FROM endpoint_demand WHERE endpoint_id = e.id
            AND reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms') AS d
      ) AS endpoints, (
        SELECT jsonb_build_object('connected', count(*) FILTER (WHERE session_id IS NOT NULL
          AND lease_expires_at > now()),
          'away', count(*) FILTER (WHERE session_id IS NULL OR lease_expires_at <= now()), 'cordoned',
          count(*) FILTER (WHERE cordoned),
          'gpusUsed', (SELECT count(*) FROM gpu WHERE used AND NOT unhealthy), 'gpusFree', (SELECT count(*) FROM gpu
            WHERE NOT used AND NOT unhealthy),
          'gpusUnhealthy', (SELECT count(*) FROM gpu WHERE unhealthy),
          'gpusWarning', (SELECT count(*) FROM gpu WHERE warning AND NOT unhealthy))
        FROM machine WHERE seen_at > now() - interval '1 day'
      ) AS machines`;
    const { endpoints, machines } = row;
    const held = await this.#running.heldBy(
      endpoints.filter(({ workers }) => Object.keys(workers).length > 0).map(({ id }) => id),
    );
    const heldOf = (id: string): number => (held.get(id) ?? []).reduce((sum, worker) => sum + worker.held, 0);
    return {
      machines,
      endpoints: endpoints.map((endpoint) => ({ ...endpoint, inProgress: endpoint.inProgress + heldOf(endpoint.id) })),
    };
  }
}
