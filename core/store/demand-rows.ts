/** What there is to do for load-balancing endpoints, of what facades and proxies say. It is written in edge-store.ts. */
import { LINK_TIMERS } from '../../proto/wire/link-timers.ts';
import type { Sql } from './database.ts';

/** How long what a facade or proxy said counts, in milliseconds: its silence says nothing while it may be cut off. */
export const DEMAND_VALID_MS = LINK_TIMERS.demandValidMs;

/** What there is to do for one endpoint, in all. */
export interface DemandTotal {
  waiting: number;
  /** By worker; those with none are left out. */
  inFlight: Map<string, number>;
}

/** What there is to do for endpoints, of all facades and proxies that said so lately; those with nothing are left out. */
export async function readDemands(sql: Sql, endpointIds: readonly string[]): Promise<Map<string, DemandTotal>> {
  const rows = await sql<{ endpointId: string; waiting: number; workerIds: string[]; inFlight: number[] }[]>`
    SELECT endpoint_id AS "endpointId", waiting, worker_ids AS "workerIds", in_flight AS "inFlight" FROM endpoint_demand
    WHERE endpoint_id = ANY(${[...endpointIds]}) AND reported_at > now() - ${DEMAND_VALID_MS}::int * interval '1 ms'`;
  const totals = new Map<string, DemandTotal>();
  for (const { endpointId, waiting, workerIds, inFlight } of rows) {
    const total = totals.get(endpointId) ?? { waiting: 0, inFlight: new Map<string, number>() };
    totals.set(endpointId, total);
    total.waiting += waiting;
    for (const [index, id] of workerIds.entries()) total.inFlight.set(id, (total.inFlight.get(id) ?? 0) + (inFlight[index] ?? 0));
  }
  return totals;
}
