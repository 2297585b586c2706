/**
 * Lets units start a few at a time. Programs that start together share the processors with the agent: 100 on two of
 * them kept it from its heartbeats for longer than its lease, so that core ended them all and had them start again, for
 * ever.
 */
import { availableParallelism } from 'node:os';
import type { Clock, Timer } from '@slipway/kit/time/clock';

/** Starts at once for each processor of the machine, and at least. */
const PLACES_PER_PROCESSOR = 2;
const PLACES_MIN = 4;
/**
 * For how long a start counts, in milliseconds. One that has not asked for work by then may be waiting for something, a
 * model that is loaded for instance, and holds up the others no longer. Of units that ask for nothing nobody knows when
 * they have started.
 */
const HOLD_MS = { asks: 10_000, silent: 2_000 };

/** Places for this machine. */
export function startPlaces(): number {
  return Math.max(PLACES_MIN, PLACES_PER_PROCESSOR * availableParallelism());
}

export class StartGate {
  readonly #places: number;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #held = new Map<string, Timer>();
  /** First come, first served. */
  readonly #waiting = new Map<string, () => void>();

  /** `places`: units that start at the same time. */
  constructor(places: number, clock: Pick<Clock, 'after'>) {
    this.#places = places;
    this.#clock = clock;
  }

  /** A unit that would start now has to wait. */
  get isFull(): boolean {
    return this.#held.size >= this.#places;
  }

  /**
   * Resolves when this unit may start, or when the signal aborts. Its place is free again at `leave`, at the latest
   * some seconds later. `asks`: it will ask for work.
   */
  enter(id: string, asks: boolean, signal: AbortSignal): Promise<void> {
    const hold = (): void => {
      this.#held.set(
        id,
        this.#clock.after(asks ? HOLD_MS.asks : HOLD_MS.silent, () => this.leave(id)),
      );
    };
    if (signal.aborted) return Promise.resolve();
    if (!this.isFull) return Promise.resolve(hold());
    return new Promise((resolve) => {
      this.#waiting.set(id, () => resolve(hold()));
      signal.addEventListener(
        'abort',
        () => {
          if (this.#waiting.delete(id)) resolve();
        },
        { once: true },
      );
    });
  }

  /** The unit has started, or will not. */
  leave(id: string): void {
    const timer = this.#held.get(id);
    if (!timer) return;
    timer.cancel();
    this.#held.delete(id);
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next[0]);
    next[1]();
  }
}
