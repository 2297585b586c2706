/**
 * What workers hold. Attempts that ended are still in the index of running ones until vacuum may remove them, which it may not while somebody holds an old
 * snapshot open; so a look begins with the oldest attempt that ran at the last one. No attempt begins in the past: what that might miss, when
 * a clock is set back or a claim is long in committing, is found by a look at everything, which is made whenever it takes little of the time. The order
 * asks for the index by start: statistics of a moment in which nothing ran make all indexes of running jobs look equally empty.
 */
import { boundedCache } from '../runtime/bounded-cache.ts';
import type { Database, Sql } from './database.ts';
import { numberArray, textArray } from './pack.ts';

/** Attempts that a worker holds, and those of them of normal priority. */
export interface HeldCount {
  workerId: string;
  held: number;
  normal: number;
}

/** Times of the database's clock, in milliseconds since 1970. */
interface Known {
  /** The oldest attempt that ran. */
  sinceMs: number;
  /** When to look at everything. */
  fullDueMs: number;
}

interface HeldRow {
  id: string;
  worker_id: string | null;
  held: number;
  normal: number;
  since_ms: number | null;
  now_ms: number;
  took_ms: number;
}

/** Far longer than a claim takes to commit. */
const MARGIN_MS = 10_000;
/** A look at everything may take this share of the time. */
const FULL_SHARE = 0.01;
const ENTRIES_MAX = 10_000;

export class RunningJobs {
  readonly #hot: Sql;
  readonly #marginMs: number;
  readonly #known = boundedCache<string, Known>(ENTRIES_MAX);

  /** `marginMs`: how long a claim may take to commit. */
  constructor({ hot }: Pick<Database, 'hot'>, marginMs = MARGIN_MS) {
    this.#hot = hot;
    this.#marginMs = marginMs;
  }

  /** What the workers of these endpoints hold; those that hold nothing are left out. */
  async heldBy(endpointIds: readonly string[]): Promise<Map<string, HeldCount[]>> {
    const known = endpointIds.map((id) => this.#known.get(id));
    const rows = await this.#hot<HeldRow[]>`
      SELECT e.id, h.worker_id, coalesce(h.held, 0) AS held, coalesce(h.normal, 0) AS normal, (extract(epoch FROM h.since) * 1000)::float8 AS since_ms,
        (extract(epoch FROM now()) * 1000)::float8 AS now_ms, (extract(epoch FROM clock_timestamp() - now()) * 1000)::float8 AS took_ms
      FROM unnest(${textArray(endpointIds)}::text[], ${numberArray(known.map((one) => one?.sinceMs))}::float8[],
        ${numberArray(known.map((one) => one?.fullDueMs))}::float8[]) AS e (id, since_ms, full_due_ms)
      LEFT JOIN LATERAL (
        SELECT worker_id, count(*)::int AS held, (count(*) FILTER (WHERE NOT low_priority))::int AS normal, min(started_at) AS since FROM (
          SELECT worker_id, low_priority, started_at FROM job
          WHERE endpoint_id = e.id AND state = 'IN_PROGRESS' AND started_at >= CASE WHEN extract(epoch FROM now()) * 1000 >= coalesce(e.full_due_ms, 0)
            THEN timestamptz '-infinity' ELSE to_timestamp(e.since_ms / 1000) END
          ORDER BY started_at) AS r
        GROUP BY worker_id) AS h ON true`;
    const found = Map.groupBy(rows, ({ id }) => id);
    endpointIds.forEach((id, index) => this.#learn(id, known[index], found.get(id) ?? []));
    const heldOf = ({ worker_id: workerId, held, normal }: HeldRow): HeldCount[] => (workerId === null ? [] : [{ workerId, held, normal }]);
    return new Map([...found].map(([id, own]) => [id, own.flatMap(heldOf)]));
  }

  #learn(endpointId: string, before: Known | undefined, rows: readonly HeldRow[]): void {
    const [first] = rows;
    if (!first) return;
    const { now_ms: nowMs } = first;
    const sinceMs = Math.min(nowMs, ...rows.map(({ since_ms }) => since_ms ?? nowMs)) - this.#marginMs;
    const full = before === undefined || nowMs >= before.fullDueMs;
    const tookMs = Math.max(...rows.map(({ took_ms }) => took_ms));
    this.#known.set(endpointId, { sinceMs, fullDueMs: full ? nowMs + tookMs / FULL_SHARE : before.fullDueMs });
  }
}
