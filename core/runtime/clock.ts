/**
 * Time, turns and chance, handed in so that a loop can run in a simulated world. The only place that asks the machine for them.
 */
import { randomBytes, randomFillSync, randomInt, randomUUID } from 'node:crypto';

/** A running timer. */
export interface Timer {
  /** Stops it; harmless afterwards. */
  cancel(): void;
}

/** Wall clock, steady clock, timers and turns of the loop. */
export interface Clock {
  /** Milliseconds since 1970. For people and for signatures; deadlines of jobs go by the database clock. */
  nowMs(): number;
  /** Milliseconds that only ever grow. For spans within this process. */
  monotonicMs(): number;
  /** As `monotonicMs`, but the same in all processes of this machine, until it starts anew: for what a process leaves to the next. */
  machineMs(): number;
  /** Calls `fn` once, `ms` from now. */
  after(ms: number, fn: () => void): Timer;
  /** Calls `fn` once, after what else is ready in this turn of the loop: what arrived together is then handled together. */
  soon(fn: () => void): void;
}

/** Chance. */
export interface Random {
  /** A number in [0, 1), cheap enough to be asked for by each request. */
  fraction(): number;
  /** A UUID that nobody can guess. */
  uuid(): string;
  /** `length` lowercase letters and digits that nobody can guess. */
  id(length: number): string;
  /** Bytes that nobody can guess. */
  bytes(length: number): Buffer;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  machineMs: () => Number(process.hrtime.bigint()) / 1e6,
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return { cancel: () => clearTimeout(timer) };
  },
  soon: (fn) => { setImmediate(fn); },
};

/** The machine's own timers, for what no process has to live on for. */
export const backgroundClock: Pick<Clock, 'after'> = {
  after(ms, fn) {
    const timer = setTimeout(fn, ms).unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

const ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Random words that are not used yet, got many at once: each call of the machine's generator costs more than a word. */
const words = new Uint32Array(1_024);
let wordsUsed = words.length;

function nextWord(): number {
  if (wordsUsed === words.length) {
    randomFillSync(words);
    wordsUsed = 0;
  }
  return words[wordsUsed++]!;
}

/** The machine's own chance. */
export const systemRandom: Random = {
  fraction: () => nextWord() / 2 ** 32,
  uuid: () => randomUUID(),
  id: (length) => Array.from({ length }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join(''),
  bytes: (length) => randomBytes(length),
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

/** Runs `work` with a signal that aborts after `ms`, or when the other one does. The work must heed it; nothing is left behind when it ends. */
export async function within<Result>(clock: Clock, ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const timer = clock.after(ms, () => over.abort(new Error(`not done after ${ms / 1_000} s`)));
  try {
    return await work(AbortSignal.any([signal, over.signal]));
  } finally {
    timer.cancel();
  }
}
