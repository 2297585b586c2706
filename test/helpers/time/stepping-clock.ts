/**
 * A clock that a test moves from timer to timer. Between two timers the event loop ticks, so that the work of the first
 * is done before the second.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';

/** Ticks of the loop after each timer and after the last one. Promises and short `soon` chains end within them. */
const TURNS = 4;
const LAST_TURNS = 8;

interface Waiting {
  atMs: number;
  order: number;
  fn: () => void;
}

export class SteppingClock implements Clock {
  #nowMs = 1_000;
  #order = 0;
  readonly #waiting = new Set<Waiting>();

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
    const timer = { atMs: this.#nowMs + ms, order: (this.#order += 1), fn };
    this.#waiting.add(timer);
    return {
      cancel: () => {
        this.#waiting.delete(timer);
      },
    };
  }

  soon(fn: () => void): void {
    setImmediate(fn);
  }

  /** Advances the clock and fires due timers in order, including timers that are set meanwhile. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (let next = this.#nextUntil(endMs); next; next = this.#nextUntil(endMs)) {
      this.#waiting.delete(next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.fn();
      await turns(TURNS);
    }
    this.#nowMs = endMs;
    await turns(LAST_TURNS);
  }

  #nextUntil(endMs: number): Waiting | undefined {
    let first: Waiting | undefined;
    for (const one of this.#waiting) {
      if (
        one.atMs <= endMs &&
        (!first || one.atMs < first.atMs || (one.atMs === first.atMs && one.order < first.order))
      )
        first = one;
    }
    return first;
  }
}

/** Lets `count` ticks of the event loop pass. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1)
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
}
