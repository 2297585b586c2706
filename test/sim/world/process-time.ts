/**
 * Timers and randomness that libraries take from the process, replaced while a simulation runs: the driver of
 * PostgreSQL then waits in virtual time and names its statements by the seed. Sockets are replaced as well, see
 * sim-socket.ts.
 */
import { performance } from 'node:perf_hooks';
import type { Being } from './being.ts';
import { NATURE } from './being.ts';

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  random: Math.random,
};

/** Ticks of the event loop after which an instant counts as endless. */
const TICKS_MAX = 100_000;

/** Waits for so many real milliseconds. For what the server of the database does by itself. */
export function realPause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    real.setTimeout(resolve, ms);
  });
}

/** Returns whether something ends within so many real milliseconds. */
export function isWithin(ends: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = real.setTimeout(() => resolve(false), ms);
    void ends.then(() => {
      real.clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Takes the place of the process's own time. */
interface TimeSource {
  readonly nowMs: number;
  /** Randomness of libraries: what they take must not change what happens in the world. */
  libraryFraction(): number;
  after(ms: number, of: Being, run: () => void): { cancel(): void };
}

export class ProcessTime {
  readonly #world: TimeSource;
  #immediates = 0;

  constructor(world: TimeSource) {
    this.#world = world;
  }

  install(): void {
    const world = this.#world;
    const begin = (fn: (...given: unknown[]) => void, ms = 0, ...given: unknown[]): object => {
      const { cancel } = world.after(ms, NATURE, () => fn(...given));
      const timer = { cancel, unref: () => timer, ref: () => timer, hasRef: () => true, [Symbol.toPrimitive]: () => 0 };
      return timer;
    };
    const cancel = (timer: unknown): void => {
      if (timer !== null && typeof timer === 'object' && 'cancel' in timer) (timer.cancel as () => void)();
      else real.clearTimeout(timer as NodeJS.Timeout);
    };
    const immediate = (fn: (...given: unknown[]) => void, ...given: unknown[]): object => {
      this.#immediates += 1;
      const handle = { isOver: false };
      const over = (): boolean => {
        if (handle.isOver) return true;
        handle.isOver = true;
        this.#immediates -= 1;
        return false;
      };
      real.setImmediate(() => {
        if (!over()) fn(...given);
      });
      return Object.assign(handle, { cancel: over, unref: () => handle, ref: () => handle });
    };
    const clearImmediate = (handle: unknown): void => {
      if (handle !== null && typeof handle === 'object' && 'cancel' in handle) (handle.cancel as () => void)();
    };
    Object.assign(globalThis, { setTimeout: begin, clearTimeout: cancel, setImmediate: immediate, clearImmediate });
    Object.defineProperty(performance, 'now', { value: () => world.nowMs, configurable: true });
    Math.random = () => world.libraryFraction();
  }

  restore(): void {
    const { random, ...timers } = real;
    Object.assign(globalThis, timers);
    delete (performance as { now?: unknown }).now;
    Math.random = random;
  }

  /** Resolves when nothing is left to run in this instant. */
  async settle(): Promise<void> {
    let ticks = 0;
    do {
      await new Promise<void>((resolve) => real.setImmediate(resolve));
      if ((ticks += 1) > TICKS_MAX) throw new Error('Something runs without an end, and no time passes.');
    } while (this.#immediates > 0);
  }
}
