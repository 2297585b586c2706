/**
 * Measures how long a replica has worked without a break: it listens, its database answers, and the process does not
 * stall.
 */
import type { Clock } from './clock.ts';

/** Longest gap between two records, in milliseconds. They come every few seconds. */
const GAP_MS = 10_000;

export class Stability {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** `undefined` if the database does not answer, or was not asked yet. */
  #sinceMs: number | undefined;
  #changedAtMs = -Infinity;
  /** `undefined` until the replica listens. */
  #listensSinceMs: number | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Returns milliseconds since the last break. 0 during a break, and until the replica listens. */
  get forMs(): number {
    const now = this.#clock.monotonicMs();
    if (this.#sinceMs === undefined || this.#listensSinceMs === undefined) return 0;
    return now - this.#changedAtMs > GAP_MS ? 0 : now - Math.max(this.#sinceMs, this.#listensSinceMs);
  }

  /** Records that the replica listens: its database has answered since earlier in the start. */
  listens(): void {
    this.#listensSinceMs = this.#clock.monotonicMs();
  }

  /** Records whether the database answered just now. */
  record(answers: boolean): void {
    const now = this.#clock.monotonicMs();
    if (!answers) this.#sinceMs = undefined;
    else if (this.#sinceMs === undefined || now - this.#changedAtMs > GAP_MS) this.#sinceMs = now;
    this.#changedAtMs = now;
  }
}
