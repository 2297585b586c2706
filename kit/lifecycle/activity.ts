/**
 * Whether anything happens in a process. While nothing does, loops that poll rest: they run seldom, and at their usual
 * pace again from the next mark on.
 */
import type { Clock } from '../time/clock.ts';

/** Time without a mark after which a process is quiet, in milliseconds. Longer than a machine's lease. */
export const QUIET_AFTER_MS = 30_000;
/** Longest pause of resting loops, in milliseconds: what no event reported is found within this time. */
export const REST_MS = 10_000;

export class ActivityMonitor {
  readonly #clock: Clock;
  readonly #busy: (() => boolean)[] = [];
  readonly #listeners = new Set<() => void>();
  #markedMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#markedMs = clock.monotonicMs();
  }

  /** True if nothing was marked for a while and nothing is busy. */
  get quiet(): boolean {
    return this.#clock.monotonicMs() - this.#markedMs >= QUIET_AFTER_MS && !this.#busy.some((holds) => holds());
  }

  /** Records activity. Must be called for everything that may give a resting loop work. */
  mark(): void {
    this.#markedMs = this.#clock.monotonicMs();
    for (const listener of this.#listeners) listener();
  }

  /** Keeps the process from counting as quiet while `holds` returns true. */
  busyWhile(holds: () => boolean): void {
    this.#busy.push(holds);
  }

  /** Calls the listener at every mark; it must be quick. Returns a function that unsubscribes. */
  onMark(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
