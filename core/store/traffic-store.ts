/** What went on at endpoints: written by each replica, read by the SLO scaler and for what-if questions. */
import { STARTS_SEEN_MAX, TRAFFIC_KEPT_HOURS, TRAFFIC_SPANS_SEEN_MAX, TRAFFIC_WINDOWS_MS, trafficSample } from '../domain/traffic.ts';
import type { TrafficSample, TrafficSpan, TrafficSums } from '../domain/traffic.ts';
import type { Database, Sql } from './database.ts';

/** What one replica saw of one endpoint. */
interface SeenTraffic extends Omit<TrafficSpan, 'endMs' | 'spanMs'> {
  endpointId: string;
}

export class TrafficStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Appends what was seen in the last `spanMs` milliseconds. */
  async append(seen: readonly SeenTraffic[], spanMs: number): Promise<void> {
    await this.#database.sql`
      INSERT INTO endpoint_traffic (endpoint_id, span_ms, arrived, executed, execution_ms, executions, waits)
      SELECT s."endpointId", ${spanMs}, s.arrived, s.executed, s."executionMs", s.executions, s.waits
      FROM jsonb_to_recordset(${JSON.stringify(seen)}::text::jsonb)
        AS s ("endpointId" text, arrived int, executed int, "executionMs" bigint, executions int[], waits int[])`;
  }

  /** Deletes up to `limit` spans that are old. Number of them. */
  async reap(limit: number): Promise<number> {
    const { sql } = this.#database;
    const rows = await sql`
      DELETE FROM endpoint_traffic WHERE ctid IN (
        SELECT ctid FROM endpoint_traffic WHERE ended_at < now() - ${TRAFFIC_KEPT_HOURS}::int * interval '1 h' ORDER BY ended_at LIMIT ${limit})`;
    return rows.count;
  }
}

/** What went on lately at endpoints, for their scaler. */
export async function readTraffic(sql: Sql, endpointIds: readonly string[]): Promise<Map<string, TrafficSample>> {
  if (endpointIds.length === 0) return new Map();
  const { now, short, long } = TRAFFIC_WINDOWS_MS;
  const arrived = (ms: number) => sql`coalesce(sum(arrived) FILTER (WHERE ended_at > now() - ${ms}::int * interval '1 ms'), 0)::int`;
  const rows = await sql<(TrafficSums & { id: string; slots: number; starts: number[] })[]>`
    SELECT e.id, t.*, s.starts,
      coalesce((SELECT max(w.capacity) FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.state = 'READY'), e.worker_concurrency) AS slots
    FROM endpoint e CROSS JOIN LATERAL (
      SELECT ${arrived(now)} AS "arrivedNow", ${arrived(short)} AS "arrivedShort", ${arrived(long)} AS "arrivedLong",
        coalesce(sum(executed), 0)::int AS executed, coalesce(sum(execution_ms), 0)::bigint AS "executionMs"
      FROM (SELECT arrived, executed, execution_ms, ended_at FROM endpoint_traffic WHERE endpoint_id = e.id
        ORDER BY ended_at DESC LIMIT ${TRAFFIC_SPANS_SEEN_MAX}) seen
    ) t CROSS JOIN LATERAL (${lastStarts(sql)}) s
    WHERE e.id = ANY(${[...endpointIds]})`;
  return new Map(rows.map(({ id, slots, starts, ...sums }) => [id, trafficSample(sums, starts, slots)]));
}

/** How long the last workers of endpoint `e` took until they could work, in milliseconds. */
function lastStarts(sql: Sql) {
  return sql`
    SELECT coalesce(array_agg(ms), '{}') AS starts FROM (
      SELECT (extract(epoch FROM w.ready_at - w.created_at) * 1000)::int AS ms FROM worker w
      WHERE w.endpoint_id = e.id AND w.ready_at IS NOT NULL ORDER BY w.ready_at DESC LIMIT ${STARTS_SEEN_MAX}) last`;
}
