/**
 * Time, scheduling and randomness, injected so that code can run in a simulation. The only file that uses the system
 * clock and generator.
 */
import { randomBytes, randomFillSync, randomInt, randomUUID } from 'node:crypto';

/** A running timer. */
export interface Timer {
  /** Cancels the timer. Idempotent. */
  cancel(): void;
}

/** Wall clock, monotonic clock, timers and ticks of the event loop. */
export interface Clock {
  /** Returns milliseconds since 1970. For people and signatures; deadlines of jobs use the database clock. */
  nowMs(): number;
  /** Returns monotonic milliseconds, for spans within this process. */
  monotonicMs(): number;
  /**
   * Returns a monotonic time that is the same in all processes of this machine until it reboots: for values that a
   * process leaves to the next one.
   */
  machineMs(): number;
  /** Calls `fn` once after `ms` milliseconds. */
  after(ms: number, fn: () => void): Timer;
  /** Calls `fn` once after the other events of this tick, so that items that arrived together are handled together. */
  soon(fn: () => void): void;
}

/** Randomness. */
export interface Random {
  /** Returns a number in [0, 1). Fast enough for every request. */
  fraction(): number;
  /** Returns an unguessable UUID. */
  uuid(): string;
  /** Returns `length` unguessable lowercase letters and digits. */
  id(length: number): string;
  /** Returns unguessable bytes. */
  bytes(length: number): Buffer;
}

/** The system clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  machineMs: () => Number(process.hrtime.bigint()) / 1e6,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (fn) => {
    setImmediate(fn);
  },
};

/** Timers that do not keep the process alive. */
export const backgroundClock: Pick<Clock, 'after'> = {
  after(ms, fn) {
    const timer = setTimeout(fn, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

const ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Unused random words, fetched in bulk: a call of the system generator costs more than a word. */
const words = new Uint32Array(1_024);
let wordsUsed = words.length;

function nextWord(): number {
  if (wordsUsed === words.length) {
    randomFillSync(words);
    wordsUsed = 0;
  }
  return words[wordsUsed++]!;
}

/** The system generator. */
export const systemRandom: Random = {
  fraction: () => nextWord() / 2 ** 32,
  uuid: () => randomUUID(),
  id: (length) => Array.from({ length }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join(''),
  bytes: (length) => randomBytes(length),
};

/** Resolves after `ms`, or at once when the signal aborts. Never rejects. */
export function delay(clock: Pick<Clock, 'after'>, ms: number, signal?: AbortSignal): Promise<void> {
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

/** Runs `work` with a signal that aborts after `ms`, or when `signal` does. The work must honour it. */
export async function within<Result>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const timer = clock.after(ms, () => over.abort(new Error(`not done after ${ms / 1_000} s`)));
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    timer.cancel();
  }
}
