/** A clock that only moves when a test says so. */
import type { Clock, Timer } from '@slipway/kit/time/clock';

export class ManualClock implements Clock {
  #nowMs = 1_000;
  #timers: { atMs: number; fn: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  monotonicMs(): number {
    return this.#nowMs;
  }

  machineMs(): number {
    return this.#nowMs;
  }

  after(ms: number, fn: () => void): Timer {
    const timer = { atMs: this.#nowMs + ms, fn };
    this.#timers.push(timer);
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }

  /** Runs in the next tick, independent of the clock's time. */
  soon(fn: () => void): void {
    setImmediate(fn);
  }

  /** Moves time and fires what is due, in order. */
  pass(ms: number): void {
    this.#nowMs += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#nowMs).sort((a, b) => a.atMs - b.atMs);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { fn } of due) fn();
  }
}
