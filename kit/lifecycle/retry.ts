/** Retries failed work with growing, jittered pauses, until it is aborted. */

import type { BackoffOptions } from '../time/backoff.ts';
import { backoffMs } from '../time/backoff.ts';
import type { Clock, Random } from '../time/clock.ts';
import { delay } from '../time/clock.ts';

/** How to retry. */
interface RetryPlan {
  clock: Clock;
  random: Random;
  /** Pauses between tries. */
  pause: BackoffOptions;
  /** Called for each failure, before the decision to retry; `failures` counts from 1. */
  onFailure?(error: unknown, failures: number): void;
}

interface Bounds {
  /** Most tries, at least 1. */
  triesMax: number;
  /** Time limit in milliseconds from the first try. A function is called at each failure. Infinity: no limit. */
  forMs: number | ((error: unknown) => number);
  /** Ends retries and pauses when it aborts. Does not interrupt a running try. */
  signal: AbortSignal;
}

/** How to retry, with at least one bound. */
type RetryOptions = RetryPlan &
  Partial<Bounds> &
  (Pick<Bounds, 'triesMax'> | Pick<Bounds, 'forMs'> | Pick<Bounds, 'signal'>) & {
    /** Returns whether to retry after this failure; `failures` counts from 1. Default: always, within the bounds. */
    mayHelp?(error: unknown, failures: number): boolean | Promise<boolean>;
  };

/** Runs `work` at least once, until it succeeds or no retry is left. Throws the last failure. */
export async function retry<Result>(work: () => Promise<Result>, options: RetryOptions): Promise<Result> {
  const { clock, random, pause, signal, triesMax = Infinity, forMs = Infinity } = options;
  const startedMs = clock.monotonicMs();
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      options.onFailure?.(error, failures);
      if (signal?.aborted || failures >= triesMax || (await options.mayHelp?.(error, failures)) === false) throw error;
      if (clock.monotonicMs() - startedMs >= (typeof forMs === 'number' ? forMs : forMs(error))) throw error;
      await delay(clock, backoffMs(failures, pause, random), signal);
      if (signal?.aborted) throw error;
    }
  }
}

/** Runs `work` until it succeeds. Never rejects. Returns `undefined` if the signal aborts first. */
export async function retryUntil<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
  plan: RetryPlan,
): Promise<Result | undefined> {
  if (signal.aborted) return undefined;
  try {
    return await retry(work, { ...plan, signal });
  } catch {
    // Aborted; `onFailure` has reported the failure.
    return undefined;
  }
}
