/** What went on at endpoints: written by each replica, read by the SLO scaler and for what-if questions. */
import { STARTS_SEEN_MAX, TRAFFIC_KEPT_HOURS, TRAFFIC_SPANS_SEEN_MAX, TRAFFIC_WINDOWS_MS, trafficSample } from '../domain/traffic.ts';
import type { TrafficSample, TrafficSpan, TrafficSums } from '../domain/traffic.ts';
import type { Recorded, RecordedDecision } from '../domain/what-if.ts';
import type { Database, Sql } from './database.ts';

/** Samples that are replayed for one question, in bytes; of more the latest. */
const SAMPLES_BYTES_MAX = 4 * 1024 * 1024;

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

  /** What was recorded of an endpoint in the last so many hours. */
  async recorded(endpointId: string, accountId: string, hours: number): Promise<Recorded> {
    const { sql } = this.#database;
    const since = sql`now() - ${hours}::int * interval '1 h'`;
    const ms = (column: string) => sql`(extract(epoch FROM ${sql(column)}) * 1000)::bigint`;
    const spans = await sql<TrafficSpan[]>`
      SELECT ${ms('ended_at')} AS "endMs", span_ms AS "spanMs", arrived, executed, execution_ms AS "executionMs", executions, waits
      FROM endpoint_traffic WHERE endpoint_id = ${endpointId} AND ended_at > ${since} ORDER BY ended_at`;
    const decisions = await sql<RecordedDecision[]>`
      SELECT ${ms('decided_at')} AS "decidedAtMs", target, throttled, sample -> 'settings' AS settings,
        CASE WHEN sum(sample_bytes) OVER (ORDER BY id DESC) <= ${SAMPLES_BYTES_MAX} THEN sample END AS sample
      FROM scale_log WHERE endpoint_id = ${endpointId} AND decided_at > ${since} ORDER BY id`;
    // A span that began earlier and has ended since is not found by the index; a week back is far enough for those that matter.
    const workers = await sql<{ fromMs: number; untilMs: number }[]>`
      SELECT ${ms('started_at')} AS "fromMs", (extract(epoch FROM coalesce(ended_at, now())) * 1000)::bigint AS "untilMs" FROM usage_span
      WHERE account_id = ${accountId} AND kind = 'WORKER' AND started_at > ${since} - interval '7 days' AND endpoint_id = ${endpointId}
        AND (ended_at IS NULL OR ended_at > ${since})`;
    const [facts] = await sql<{ slots: number; gpus: number; starts: number[] }[]>`
      SELECT ${slotsOf(sql)} AS slots, e.gpu_count AS gpus, s.starts
      FROM endpoint e CROSS JOIN LATERAL (${lastStarts(sql)}) s WHERE e.id = ${endpointId}`;
    return { spans, decisions, workers, startsMs: facts?.starts ?? [], slots: facts?.slots ?? 1, gpus: facts?.gpus ?? 0 };
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
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const arrived = (ms: number) => sql`coalesce(sum(arrived) FILTER (WHERE ended_at > now() - ${ms}::int * interval '1 ms'), 0)::int`;
  const rows = await sql<(TrafficSums & { id: string; slots: number; starts: number[] })[]>`
    SELECT e.id, t.*, s.starts, ${slotsOf(sql)} AS slots
    FROM endpoint e CROSS JOIN LATERAL (
      SELECT ${arrived(now)} AS "arrivedNow", ${arrived(short)} AS "arrivedShort", ${arrived(long)} AS "arrivedLong",
        ${arrived(hour)} AS "arrivedHour", coalesce(sum(executed), 0)::int AS executed, coalesce(sum(execution_ms), 0)::bigint AS "executionMs"
      FROM (SELECT arrived, executed, execution_ms, ended_at FROM endpoint_traffic WHERE endpoint_id = e.id
        ORDER BY ended_at DESC LIMIT ${TRAFFIC_SPANS_SEEN_MAX}) seen
    ) t CROSS JOIN LATERAL (${lastStarts(sql)}) s
    WHERE e.id = ANY(${[...endpointIds]})`;
  return new Map(rows.map(({ id, slots, starts, ...sums }) => [id, trafficSample(sums, starts, slots)]));
}

/** Jobs that a worker of endpoint `e` holds at once, as those that are there say. */
function slotsOf(sql: Sql) {
  return sql`greatest(coalesce(
    (SELECT max(w.capacity) FROM worker w WHERE w.endpoint_id = e.id AND w.ended_at IS NULL AND w.endpoint_id <> '' AND w.state = 'READY'),
    e.worker_concurrency), 1)`;
}

/** How long the last workers of endpoint `e` took until they could work, in milliseconds. */
function lastStarts(sql: Sql) {
  return sql`
    SELECT coalesce(array_agg(ms), '{}') AS starts FROM (
      SELECT (extract(epoch FROM w.ready_at - w.created_at) * 1000)::int AS ms FROM worker w
      WHERE w.endpoint_id = e.id AND w.ready_at IS NOT NULL ORDER BY w.ready_at DESC LIMIT ${STARTS_SEEN_MAX}) last`;
}
