/** Calls of a command that waits for minutes: a core that is being started again must not end it. */
import { delay } from '../../core/runtime/clock.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import type { Cli } from './cli.ts';
import { UnreachableError } from './failures.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;

/** Calls again while core is away, for a minute at most. The call must be safe to repeat. */
export async function patiently<Answer>({ clock, output, stopping }: Cli, call: () => Promise<Answer>): Promise<Answer> {
  const startedMs = clock.monotonicMs();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const away = error instanceof UnreachableError || (error instanceof CoreError && error.reason === 'UNAVAILABLE');
      const waitedMs = clock.monotonicMs() - startedMs;
      if (!away || waitedMs > PATIENCE_MS) throw error;
      output.progress('Core does not answer; trying again.', `${Math.round(waitedMs / 1_000)} s`);
      await delay(clock, PAUSE_MS, stopping);
    }
  }
}
