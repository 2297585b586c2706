/**
 * A clock that a test moves from timer to timer, with ticks of the event loop in between: the work that a timer starts
 * is done before the next timer.
 */
import type { Clock, Timer } from '@slipway/kit/time/clock';

/** Turns of the loop after each timer, and after the last: promises and `soon` chains of a few links end in them. */
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

  /** Moves on and fires what is due, in order, also what is set meanwhile. */
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
