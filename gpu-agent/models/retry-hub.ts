/** Retries requests of a hub: with growing pauses, or for as long as the hub asks to wait. */
import type { BackoffOptions } from '@slipway/kit/time/backoff';
import { backoffMs } from '@slipway/kit/time/backoff';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { HubError, mayPass } from './hub-error.ts';

/** How to retry. */
export interface RetryRule {
  clock: Clock;
  random: Random;
  pause: BackoffOptions;
  /** Most failures in a row that brought nothing. */
  triesMax: number;
}

/** Hooks of a retry. */
interface RetryHooks {
  /** Returns true if the last try brought something: the count of failures begins anew. */
  progressed?(): boolean;
  /** Returns whether another try may help. Default: unless the hub rejected the request for good. */
  mayHelp?(error: unknown): boolean;
  /** Called before each pause. */
  onFailure?(error: unknown): void;
}

/**
 * Calls `work` until it succeeds. Throws its failure if no retry would help, if there were too many in a row, or if
 * `signal` aborted.
 */
export async function retryHub<Result>(
  { clock, random, pause, triesMax }: RetryRule,
  signal: AbortSignal,
  work: () => Promise<Result>,
  { progressed = () => false, mayHelp = mayPass, onFailure }: RetryHooks = {},
): Promise<Result> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (progressed()) failures = 1;
      if (signal.aborted || failures >= triesMax || !mayHelp(error)) throw error;
      onFailure?.(error);
      const asked = error instanceof HubError ? (error.waitMs ?? 0) : 0;
      await delay(clock, Math.max(asked, backoffMs(failures, pause, random)), signal);
      if (signal.aborted) throw error;
    }
  }
}
