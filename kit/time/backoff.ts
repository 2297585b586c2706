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
 * Returns the pause before the next try in milliseconds. It doubles with every failure up to the maximum, and is then
 * spread over 50 % to 100 % of that, so that many callers do not come back together.
 */
export function backoffMs(failures: number, options: BackoffOptions, random: Random): number {
  const grown = options.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30);
  return Math.min(grown, options.maxMs) * (0.5 + random.fraction() / 2);
}
