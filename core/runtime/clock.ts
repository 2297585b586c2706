/**
 * Time and chance, handed in so that a loop can run in a simulated world. The only place that reads the machine's clock.
 */
import { randomInt, randomUUID } from 'node:crypto';

/** A running timer. */
export interface Timer {
  /** Stops it; harmless afterwards. */
  cancel(): void;
}

/** Wall clock, steady clock and timers. */
export interface Clock {
  /** Milliseconds since 1970. For people and for signatures; deadlines of jobs go by the database clock. */
  nowMs(): number;
  /** Milliseconds that only ever grow. For spans within this process. */
  monotonicMs(): number;
  /** Calls `fn` once, `ms` from now. */
  after(ms: number, fn: () => void): Timer;
}

/** Chance. */
export interface Random {
  /** A number in [0, 1). */
  fraction(): number;
  /** A UUID that nobody can guess. */
  uuid(): string;
  /** `length` lowercase letters and digits that nobody can guess. */
  id(length: number): string;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
};

const ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** The machine's own chance. */
export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  uuid: () => randomUUID(),
  id: (length) => Array.from({ length }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join(''),
};

/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(ms, done);
    signal?.addEventListener('abort', done, { once: true });
  });
}
