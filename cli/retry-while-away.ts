/** Calls of a command that waits for minutes: a core that is being started again must not end it. */
import { retry } from '@slipway/kit/lifecycle/retry';
import { CoreError } from '@slipway/proto/wire/reason';
import type { Cli } from './cli.ts';
import { interruptionOf, UnreachableError } from './failures.ts';

const AWAY_MS_MAX = 60_000;
const PAUSE = { firstMs: 500, maxMs: 1_000 };

/**
 * Calls again while core is away, for a minute at most. The call must be safe to repeat. Throws InterruptedError if the
 * command is to end before another try.
 */
export async function retryWhileAway<Answer>(
  { clock, random, output, stopping }: Cli,
  call: () => Promise<Answer>,
): Promise<Answer> {
  const startedMs = clock.monotonicMs();
  return retry(call, {
    clock,
    random,
    pause: PAUSE,
    forMs: AWAY_MS_MAX,
    signal: stopping,
    mayHelp: isAway,
    onFailure: (error) => {
      if (isAway(error))
        output.progress(
          'Core does not answer; trying again.',
          `${Math.round((clock.monotonicMs() - startedMs) / 1_000)} s`,
        );
    },
  }).catch((error: unknown) => {
    throw stopping.aborted && isAway(error) ? interruptionOf(stopping) : error;
  });
}

/** Returns whether a call failed because core, or its database, cannot be reached now. */
export function isAway(error: unknown): boolean {
  return error instanceof UnreachableError || (error instanceof CoreError && error.reason === 'UNAVAILABLE');
}
