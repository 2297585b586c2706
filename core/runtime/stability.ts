/** How long a replica has worked without a break: its database answered, and the process did not stand still. */
import type { Clock } from './clock.ts';

/** Without a word for this long, in milliseconds, there was a break: it is told of every few seconds. */
const GAP_MS = 10_000;

export class Stability {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Undefined: the database does not answer, or was not asked yet. */
  #sinceMs: number | undefined;
  #toldAtMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Returns for how many milliseconds there was no break, 0 in the middle of one. */
  get forMs(): number {
    const now = this.#clock.monotonicMs();
    return this.#sinceMs === undefined || now - this.#toldAtMs > GAP_MS ? 0 : now - this.#sinceMs;
  }

  /** Notes whether the database answered just now. */
  record(answers: boolean): void {
    const now = this.#clock.monotonicMs();
    if (!answers) this.#sinceMs = undefined;
    else if (this.#sinceMs === undefined || now - this.#toldAtMs > GAP_MS) this.#sinceMs = now;
    this.#toldAtMs = now;
  }
}
