/** Traffic of endpoints: written by each replica, read by the SLO scaler and for what-if questions. */
import type { StepCounts } from '../../domain/jobs/job-times.ts';
import type { Recorded, RecordedDecision } from '../../domain/scaling/model/what-if.ts';
import type { TrafficSpan } from '../../domain/scaling/traffic.ts';
import { BINS_MAX, TRAFFIC_KEPT_HOURS } from '../../domain/scaling/traffic.ts';
import type { Database } from '../sql/database.ts';
import { inKnownTransaction } from '../sql/known-commit.ts';
import { lastStarts, slotsOf } from './traffic-rows.ts';

/** Maximum size of the samples that one what-if question replays, in bytes. Older samples are left out. */
const SAMPLES_BYTES_MAX = 4 * 1024 * 1024;

/** Traffic of one endpoint at one replica. */
interface SeenTraffic extends Omit<TrafficSpan, 'endMs' | 'spanMs'> {
  endpointId: string;
  /** Submitted jobs with low priority. */
  arrivedLow: number;
  /** Jobs that became COMPLETED, and jobs that became FAILED or TIMED_OUT. */
  completed: number;
  failed: number;
}

export class TrafficStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Appends the traffic of the last `spanMs` milliseconds. Throws LostAnswerError if that may have been done. */
  async append(seen: readonly SeenTraffic[], spanMs: number): Promise<void> {
    await inKnownTransaction(
      this.#database.sql,
      (tx) => tx`
      INSERT INTO endpoint_traffic (endpoint_id, span_ms, arrived, executed, execution_ms, executions, waits,
        arrived_low, completed, failed)
      SELECT s."endpointId", ${spanMs}, s.arrived, s.executed, s."executionMs", s.executions, s.waits, s."arrivedLow",
        s.completed, s.failed
      FROM jsonb_to_recordset(${JSON.stringify(seen)}::text::jsonb) AS s ("endpointId" text, arrived int, executed int,
        "executionMs" bigint,
        executions int[], waits int[], "arrivedLow" int, completed int, failed int)`,
    );
  }

  /** Returns the recorded traffic of an endpoint in the last `hours` hours. */
  async recorded(endpointId: string, accountId: string, hours: number): Promise<Recorded> {
    const { sql } = this.#database;
    const since = sql`now() - ${hours}::int * interval '1 h'`;
    const ms = (column: string) => sql`(extract(epoch FROM ${sql(column)}) * 1000)::bigint`;
    const spans = await sql<TrafficSpan[]>`
      SELECT ${ms('ended_at')} AS "endMs", span_ms AS "spanMs", arrived, executed, execution_ms AS "executionMs",
        executions, waits
      FROM endpoint_traffic WHERE endpoint_id = ${endpointId} AND ended_at > ${since} ORDER BY ended_at`;
    const decisions = await sql<RecordedDecision[]>`
      SELECT ${ms('decided_at')} AS "decidedAtMs", target, throttled, sample -> 'settings' AS settings,
        CASE WHEN sum(sample_bytes) OVER (ORDER BY id DESC) <= ${SAMPLES_BYTES_MAX} THEN sample END AS sample
      FROM scale_log WHERE endpoint_id = ${endpointId} AND decided_at > ${since} ORDER BY id`;
    // The index does not find spans that began earlier and have ended since. A week back is far enough for those that
    // matter.
    const workers = await sql<{ fromMs: number; untilMs: number }[]>`
      SELECT ${ms('started_at')} AS "fromMs",
        (extract(epoch FROM coalesce(ended_at, now())) * 1000)::bigint AS "untilMs" FROM usage_span
      WHERE account_id = ${accountId} AND kind = 'WORKER' AND started_at > ${since} - interval '7 days'
        AND endpoint_id = ${endpointId}
        AND (ended_at IS NULL OR ended_at > ${since})`;
    const [facts] = await sql<{ slots: number; gpus: number; starts: number[] }[]>`
      SELECT ${slotsOf(sql)} AS slots, e.gpu_count AS gpus, s.starts
      FROM endpoint e CROSS JOIN LATERAL (${lastStarts(sql)}) s WHERE e.id = ${endpointId}`;
    return {
      spans,
      decisions,
      workers,
      startsMs: facts?.starts ?? [],
      slots: facts?.slots ?? 1,
      gpus: facts?.gpus ?? 0,
    };
  }

  /**
   * Returns wait and run times in the last `spanMs` milliseconds, with the numbers of submitted and ended jobs, by
   * steps that begin at multiples of `stepMs`. Steps without traffic are left out.
   */
  async times(endpointId: string, spanMs: number, stepMs: number): Promise<{ sinceMs: number; steps: StepCounts[] }> {
    const { sql } = this.#database;
    const since = sql`now() - ${spanMs}::float8 * interval '1 ms'`;
    const [now] = await sql<[{ sinceMs: number }]>`SELECT floor(date_part('epoch', ${since}) * 1000) AS "sinceMs"`;
    const steps = await sql<StepCounts[]>`
      SELECT floor(date_part('epoch', ended_at) * 1000 / ${stepMs}::float8) * ${stepMs}::float8 AS "startMs",
        ${sql.unsafe(binSums('waits'))} AS waits, ${sql.unsafe(binSums('executions'))} AS executions,
        sum(arrived + arrived_low) AS arrived, sum(completed) AS completed, sum(failed) AS failed
      FROM endpoint_traffic WHERE endpoint_id = ${endpointId} AND ended_at > ${since} GROUP BY 1 ORDER BY 1`;
    return { sinceMs: now.sinceMs, steps: [...steps] };
  }

  /** Deletes up to `limit` old spans. Returns their number. */
  async reap(limit: number): Promise<number> {
    const { sql } = this.#database;
    const rows = await sql`
      DELETE FROM endpoint_traffic WHERE ctid IN (
        SELECT ctid FROM endpoint_traffic WHERE ended_at < now() - ${TRAFFIC_KEPT_HOURS}::int * interval '1 h'
          ORDER BY ended_at LIMIT ${limit})`;
    return rows.count;
  }
}

/**
 * Returns the sum of histograms over many rows. It sums bin by bin, because unnesting makes a row per bin and takes
 * several times as long.
 */
function binSums(column: string): string {
  return `ARRAY[${Array.from({ length: BINS_MAX }, (_, bin) => `coalesce(sum(${column}[${bin + 1}]), 0)`).join(', ')}]`;
}
