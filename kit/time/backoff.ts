/** Computes pauses between retries. */
import type { Random } from './clock.ts';

/** Bounds of a growing pause. */
export interface BackoffOptions {
  /** First pause in milliseconds. */
  firstMs: number;
  /** Longest pause in milliseconds. */
  maxMs: number;
}

/**
 * Pause before try number `failures` + 1: doubles with every failure up to the maximum, then spread over [50 %, 100 %]
 * so that many callers do not come back together.
 */
export function backoffMs(failures: number, options: BackoffOptions, random: Random): number {
  const grown = options.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  return Math.min(grown, options.maxMs) * (0.5 + random.fraction() / 2);
}
