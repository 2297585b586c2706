/**
 * Remembers where a repeated scan may begin. Rows that no longer match stay in the index until vacuum removes them,
 * which it cannot while an old snapshot is open. So a scan begins at the oldest row that the previous one found. What
 * this may miss (a clock set back, a slow commit) is found by a full scan, made whenever that takes little of the
 * time.
 */
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Fragment, Sql } from '../sql/database.ts';
import { numberArray } from '../sql/pack.ts';

/** Times of the database's clock, in milliseconds since 1970. */
interface Known {
  sinceMs: number;
  /** When the next full scan is due. */
  fullDueMs: number;
}

/** Result of a scan. Times as in `Known`. */
interface Scan {
  nowMs: number;
  /** Duration in milliseconds. */
  tookMs: number;
  /** Time of the oldest row found. */
  oldestMs: number | undefined;
}

/**
 * Far longer than a commit takes, in milliseconds. While an old snapshot is open, each scan steps over the rows that
 * ended within this time.
 */
const MARGIN_MS = 3_000;
/** Largest share of time that full scans may take. */
const FULL_SHARE = 0.01;
const ENTRIES_MAX = 10_000;

export class ScanStart {
  readonly #marginMs: number;
  readonly #known = boundedCache<string, Known>(ENTRIES_MAX);

  /** `marginMs`: how long a change may take to commit. */
  constructor(marginMs = MARGIN_MS) {
    this.#marginMs = marginMs;
  }

  /** Returns two columns for `unnest`, in the order of the ids: `from` reads them as since_ms and full_due_ms. */
  columns(sql: Sql, ids: readonly string[]): Fragment {
    const known = ids.map((id) => this.#known.get(id));
    return sql`${numberArray(known.map((one) => one?.sinceMs))}::float8[],
      ${numberArray(known.map((one) => one?.fullDueMs))}::float8[]`;
  }

  /** Returns the instant at which a scan of the row `given` begins. */
  from(sql: Sql, given: Fragment): Fragment {
    return sql`CASE WHEN extract(epoch FROM now()) * 1000 >= coalesce(${given}.full_due_ms, 0)
      THEN timestamptz '-infinity'
      ELSE to_timestamp(${given}.since_ms / 1000) END`;
  }

  /** Returns where the next scan of `id` may begin, in milliseconds; 0 before the first. */
  sinceMs(id: string): number {
    return this.#known.get(id)?.sinceMs ?? 0;
  }

  /** Records a scan of `id`. */
  learn(id: string, { nowMs, tookMs, oldestMs }: Scan): void {
    const before = this.#known.get(id);
    const full = before === undefined || nowMs >= before.fullDueMs;
    this.#known.set(id, {
      sinceMs: Math.min(nowMs, oldestMs ?? nowMs) - this.#marginMs,
      fullDueMs: full ? nowMs + tookMs / FULL_SHARE : before.fullDueMs,
    });
  }
}
