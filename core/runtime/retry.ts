/** Tries again what failed: the pauses between tries grow, are spread, and end at once when nobody wants the result any more. */
import { backoffMs } from './backoff.ts';
import type { BackoffOptions } from './backoff.ts';
import { delay } from './clock.ts';
import type { Clock, Random } from './clock.ts';

/** How to try again. */
export interface RetryPlan {
  clock: Clock;
  random: Random;
  /** Pauses between tries. */
  pause: BackoffOptions;
  /** Told of every failed try, before anything is decided about it; `failures` counts from 1. */
  onFailure?(error: unknown, failures: number): void;
}

interface Bounds {
  /** Most tries, at least 1. */
  triesMax: number;
  /** No further try once so many milliseconds have passed since the first began; a function is asked at each failure. Infinity: no bound. */
  forMs: number | ((error: unknown) => number);
  /** Nothing is tried any more once it is aborted; a pause ends at once. A try that runs is not interrupted. */
  signal: AbortSignal;
}

/** How to try again, and what ends it besides success: at least one bound is named, so that nothing is tried for ever unnoticed. */
export type RetryOptions = RetryPlan & Partial<Bounds> & (Pick<Bounds, 'triesMax'> | Pick<Bounds, 'forMs'> | Pick<Bounds, 'signal'>) & {
  /** Whether to try again after this failure; `failures` counts from 1. Default: always, within the bounds. */
  mayHelp?(error: unknown, failures: number): boolean | Promise<boolean>;
};

/** Runs `work` until it succeeds or may not be tried again; then its last failure is thrown. It is always tried once. */
export async function retry<Result>(work: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { clock, random, pause, signal, triesMax = Infinity, forMs = Infinity } = options;
  const startedMs = clock.monotonicMs();
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      options.onFailure?.(error, failures);
      if (signal?.aborted || failures >= triesMax || await options.mayHelp?.(error, failures) === false) throw error;
      if (clock.monotonicMs() - startedMs >= (typeof forMs === 'number' ? forMs : forMs(error))) throw error;
      await delay(clock, backoffMs(failures, pause, random), signal);
      if (signal?.aborted) throw error;
    }
  }
}

/** Runs `work` until it succeeds. Never rejects; undefined: the signal was aborted first. Nothing is tried when it is aborted already. */
export async function retryUntil<Result>(signal: AbortSignal, work: () => Promise<Result>, plan: RetryPlan): Promise<Result | undefined> {
  if (signal.aborted) return undefined;
  try {
    return await retry(work, { ...plan, signal });
  } catch {
    // It was aborted; the failure was told.
    return undefined;
  }
}
