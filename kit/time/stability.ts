/** Measures how long a replica has worked without a break: its database answered, and the process did not stall. */
import type { Clock } from './clock.ts';

/** Longest gap between two records, in milliseconds. They come every few seconds. */
const GAP_MS = 10_000;

export class Stability {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** `undefined` if the database does not answer, or was not asked yet. */
  #sinceMs: number | undefined;
  #changedAtMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Returns milliseconds since the last break. 0 during a break. */
  get forMs(): number {
    const now = this.#clock.monotonicMs();
    return this.#sinceMs === undefined || now - this.#changedAtMs > GAP_MS ? 0 : now - this.#sinceMs;
  }

  /** Records whether the database answered just now. */
  record(answers: boolean): void {
    const now = this.#clock.monotonicMs();
    if (!answers) this.#sinceMs = undefined;
    else if (this.#sinceMs === undefined || now - this.#changedAtMs > GAP_MS) this.#sinceMs = now;
    this.#changedAtMs = now;
  }
}
