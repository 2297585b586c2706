/** Reads the demand of load-balancing endpoints, as facades and proxies report it. edge-store.ts writes it. */
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import type { Fragment, Sql } from './database.ts';

/**
 * Validity of a report of a facade or proxy, in milliseconds. A reporter that sends none may be cut off while its
 * requests run.
 */
export const DEMAND_VALID_MS = LINK_TIMERS.demandValidMs;

/** Total demand of one endpoint. */
interface DemandTotal {
  waiting: number;
  /** Requests by worker; workers without requests are left out. */
  inFlight: Map<string, number>;
}

/**
 * Returns the demand of endpoints from recent reports of all facades and proxies; endpoints without demand are left
 * out.
 */
export async function readDemands(sql: Sql, endpointIds: readonly string[]): Promise<Map<string, DemandTotal>> {
  const rows = await sql<{ endpointId: string; waiting: number; workerIds: string[]; inFlight: number[] }[]>`
    SELECT endpoint_id AS "endpointId", waiting, worker_ids AS "workerIds", in_flight AS "inFlight" FROM endpoint_demand
    WHERE endpoint_id = ANY(${[...endpointIds]}) AND reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'`;
  const totals = new Map<string, DemandTotal>();
  for (const { endpointId, waiting, workerIds, inFlight } of rows) {
    const total = totals.get(endpointId) ?? { waiting: 0, inFlight: new Map<string, number>() };
    totals.set(endpointId, total);
    total.waiting += waiting;
    for (const [index, id] of workerIds.entries())
      total.inFlight.set(id, (total.inFlight.get(id) ?? 0) + (inFlight[index] ?? 0));
  }
  return totals;
}

/** Wait in milliseconds after which requests beside a ready idle worker show a fault. */
const STARVED_MS = 3_000;
/** Age in milliseconds above which a report may come from a process that has ended. */
const FRESH_REPORT_MS = 10_000;

/**
 * Selects endpoints `id` whose requests wait (`waiting`) although a ready worker has none. `owned`: condition on rows
 * of `e`.
 */
export function starvedEndpoints(sql: Sql, owned: Fragment): Fragment {
  return sql`
    SELECT e.id, sum(d.waiting)::float8 AS waiting FROM endpoint e JOIN endpoint_demand d ON d.endpoint_id = e.id
    WHERE ${owned} AND d.waiting > 0 AND d.waiting_since < now() - ${STARVED_MS}::int * interval '1 ms'
      AND d.reported_at > now() - ${FRESH_REPORT_MS}::int * interval '1 ms'
      AND EXISTS (SELECT FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> ''
        AND w.desired = 'RUN'
        AND w.state = 'READY' AND w.health = 'READY' AND w.busy_at < now() - ${STARVED_MS}::int * interval '1 ms'
          AND NOT EXISTS (
          SELECT FROM endpoint_demand o WHERE o.endpoint_id = e.id AND w.id = ANY(o.worker_ids)
            AND o.reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'))
    GROUP BY e.id`;
}
