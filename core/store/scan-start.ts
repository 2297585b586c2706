/**
 * Where a look that is made again and again may begin. Rows that no longer fit are still in their index until vacuum may remove them, which it may not
 * while somebody holds an old snapshot open; so a look begins where the oldest row was that the last one found. Nothing new comes before that: what this
 * might miss, when a clock is set back or a change is long in committing, is found by a look at everything, which is made whenever it takes little of the time.
 */
import { boundedCache } from '../runtime/bounded-cache.ts';
import type { Fragment, Sql } from './database.ts';
import { numberArray } from './pack.ts';

/** Times of the database's clock, in milliseconds since 1970. */
interface Known {
  sinceMs: number;
  /** When to look at everything. */
  fullDueMs: number;
}

/** What a look found. Times as in `Known`. */
export interface Scan {
  nowMs: number;
  /** How long it took. */
  tookMs: number;
  /** Of the oldest row that it found. */
  oldestMs: number | undefined;
}

/** Far longer than a change takes to commit, in milliseconds. Beside an old snapshot each look walks over what has ended within it. */
const MARGIN_MS = 3_000;
/** A look at everything may take this share of the time. */
const FULL_SHARE = 0.01;
const ENTRIES_MAX = 10_000;

export class ScanStart {
  readonly #marginMs: number;
  readonly #known = boundedCache<string, Known>(ENTRIES_MAX);

  /** `marginMs`: how long a change may take to commit. */
  constructor(marginMs = MARGIN_MS) {
    this.#marginMs = marginMs;
  }

  /** Two columns for `unnest`, of these ids in order, which `from` takes as since_ms and full_due_ms. */
  columns(sql: Sql, ids: readonly string[]): Fragment {
    const known = ids.map((id) => this.#known.get(id));
    return sql`${numberArray(known.map((one) => one?.sinceMs))}::float8[], ${numberArray(known.map((one) => one?.fullDueMs))}::float8[]`;
  }

  /** The instant from which a look at the row `given` of these columns begins. */
  from(sql: Sql, given: Fragment): Fragment {
    return sql`CASE WHEN extract(epoch FROM now()) * 1000 >= coalesce(${given}.full_due_ms, 0) THEN timestamptz '-infinity'
      ELSE to_timestamp(${given}.since_ms / 1000) END`;
  }

  /** Where the last look at `id` says that the next one may begin; 1970 before the first. For statements that follow a look. */
  sinceMs(id: string): number {
    return this.#known.get(id)?.sinceMs ?? 0;
  }

  /** A look at `id` was made. */
  learn(id: string, { nowMs, tookMs, oldestMs }: Scan): void {
    const before = this.#known.get(id);
    const full = before === undefined || nowMs >= before.fullDueMs;
    this.#known.set(id, {
      sinceMs: Math.min(nowMs, oldestMs ?? nowMs) - this.#marginMs, fullDueMs: full ? nowMs + tookMs / FULL_SHARE : before.fullDueMs,
    });
  }
}
