/** A clock that only moves when a test says so. */
import type { Clock, Timer } from '../../core/runtime/clock.ts';

/** See the file's first line. */
export class ManualClock implements Clock {
  #nowMs = 1_000;
  #timers: { atMs: number; fn: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(ms: number, fn: () => void): Timer {
    const timer = { atMs: this.#nowMs + ms, fn };
    this.#timers.push(timer);
    return { cancel: () => { this.#timers = this.#timers.filter((other) => other !== timer); } };
  }

  /** Moves time step by step, firing each timer at its own moment, those included that are set on the way. */
  pass(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.atMs <= end).sort((a, b) => a.atMs - b.atMs)[0];
      if (!next) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
    }
    this.#nowMs = end;
  }
}
