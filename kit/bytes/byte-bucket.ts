/** Bounds how many bytes a second may pass, in total over all who ask. */
import type { Clock } from '../time/clock.ts';
import { delay } from '../time/clock.ts';

const SECOND_MS = 1_000;

export class ByteBucket {
  readonly #rate: number;
  readonly #clock: Clock;
  /** Time at which all bytes that were asked for have passed, by the monotonic clock. */
  #freeAtMs = -Infinity;

  /** `rate`: bytes a second. */
  constructor(rate: number, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
  }

  /** Resolves when these bytes may pass. Those who ask are served in order. */
  async take(bytes: number, signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const fromMs = Math.max(this.#freeAtMs, nowMs);
    this.#freeAtMs = fromMs + (bytes / this.#rate) * SECOND_MS;
    if (fromMs > nowMs) await delay(this.#clock, fromMs - nowMs, signal);
  }
}
