/** What went on at endpoints: written by each replica, read by the SLO scaler and for what-if questions. */
import { TRAFFIC_KEPT_HOURS } from '../domain/traffic.ts';
import type { TrafficSpan } from '../domain/traffic.ts';
import type { Database } from './database.ts';

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
