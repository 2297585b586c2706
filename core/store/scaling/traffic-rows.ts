/** Reads recent traffic of endpoints for their scaler. traffic-store.ts writes it. */

import type { TrafficSample, TrafficSums } from '../../domain/scaling/traffic.ts';
import {
  STARTS_SEEN_MAX,
  TRAFFIC_SPANS_SEEN_MAX,
  TRAFFIC_WINDOWS_MS,
  trafficSample,
} from '../../domain/scaling/traffic.ts';
import type { Fragment, Sql } from '../sql/database.ts';
import type { GpuDemand } from './gpu-start-rows.ts';
import { readGpuStarts } from './gpu-start-rows.ts';

/** Returns recent traffic of endpoints. */
export async function readTraffic(sql: Sql, endpoints: readonly GpuDemand[]): Promise<Map<string, TrafficSample>> {
  if (endpoints.length === 0) return new Map();
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const arrived = (ms: number) =>
    sql`coalesce(sum(arrived) FILTER (WHERE ended_at > now() - ${ms}::int * interval '1 ms'), 0)::int`;
  const [rows, byGpu] = await Promise.all([
    sql<(TrafficSums & { id: string; slots: number; starts: number[] })[]>`
    SELECT e.id, t.*, s.starts, ${slotsOf(sql)} AS slots
    FROM endpoint e CROSS JOIN LATERAL (
      SELECT ${arrived(now)} AS "arrivedNow", ${arrived(short)} AS "arrivedShort", ${arrived(long)} AS "arrivedLong",
        ${arrived(hour)} AS "arrivedHour", coalesce(sum(executed), 0)::int AS executed,
        coalesce(sum(execution_ms), 0)::bigint AS "executionMs"
      FROM (SELECT arrived, executed, execution_ms, ended_at FROM endpoint_traffic WHERE endpoint_id = e.id
        ORDER BY ended_at DESC LIMIT ${TRAFFIC_SPANS_SEEN_MAX}) seen
    ) t CROSS JOIN LATERAL (${lastStarts(sql)}) s
    WHERE e.id = ANY(${endpoints.map(({ id }) => id)})`,
    readGpuStarts(sql, endpoints),
  ]);
  return new Map(rows.map(({ id, slots, starts, ...sums }) => [id, trafficSample(sums, starts, slots, byGpu.get(id))]));
}

/** Returns how many jobs a worker of endpoint `e` holds at once, as its workers report. */
export function slotsOf(sql: Sql): Fragment {
  return sql`greatest(coalesce(
    (SELECT max(w.capacity) FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> ''
      AND w.state = 'READY'),
    e.worker_concurrency), 1)`;
}

/** Returns the start times of the last workers of endpoint `e`, in milliseconds. */
export function lastStarts(sql: Sql): Fragment {
  return sql`
    SELECT coalesce(array_agg(ms), '{}') AS starts FROM (
      SELECT (extract(epoch FROM w.ready_at - w.created_at) * 1000)::int AS ms FROM worker w
      WHERE w.endpoint_id = e.id AND w.ready_at IS NOT NULL ORDER BY w.ready_at DESC LIMIT ${STARTS_SEEN_MAX}) last`;
}
