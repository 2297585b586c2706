/**
 * Stores submissions while the database may be away. All of them share one time limit: otherwise each would wait for
 * those before it as well.
 */
import type { Clock, Random } from '@slipway/kit/time/clock';
import { DatabaseAwayError, isDiskFull, isTransient, persist } from '../../store/sql/transient.ts';

/** Submissions fail at their first try after this many milliseconds without a database. */
const OUTAGE_MS_MAX = 3_000;
/** A failure this many milliseconds after the previous one begins another outage. */
const SAME_OUTAGE_MS_MAX = 60_000;

interface OutageTrackerOptions {
  clock: Clock;
  random: Random;
  /** Ends all tries. */
  signal: AbortSignal;
}

export class OutageTracker {
  readonly #options: OutageTrackerOptions;
  #sinceMs: number | undefined;
  #failedAtMs = -Infinity;

  constructor(options: OutageTrackerOptions) {
    this.#options = options;
  }

  /**
   * Runs an idempotent statement until it succeeds or fails permanently. Throws DatabaseAwayError if the database has
   * rejected statements for too long, or if its disk is full: that takes an operator, so it is not waited for.
   */
  async persist<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      const result = await persist(work, { ...this.#options, forMs: (error) => this.#leftMs(error) });
      this.#sinceMs = undefined;
      return result;
    } catch (error) {
      throw isTransient(error) ? new DatabaseAwayError(error) : error;
    }
  }

  /** Records a failure. Returns whether submissions must fail by now. */
  isTooLong(error: unknown): boolean {
    return this.#leftMs(error) === 0;
  }

  /** Records a failure. Returns for how long its work may be tried, in milliseconds: 0 or Infinity. */
  #leftMs(error: unknown): number {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#failedAtMs > SAME_OUTAGE_MS_MAX) this.#sinceMs = undefined;
    this.#failedAtMs = nowMs;
    this.#sinceMs ??= nowMs;
    return isDiskFull(error) || nowMs - this.#sinceMs >= OUTAGE_MS_MAX ? 0 : Infinity;
  }
}
