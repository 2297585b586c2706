/** `--watch`: shows a list again and again. */

import { delay } from '@slipway/kit/time/clock';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { UsageError } from '../failures.ts';
import { retryWhileAway } from '../retry-while-away.ts';

/** The option of commands that can be watched. */
export const WATCH = ['--watch', 'show it again every 2 s until Ctrl-C'] as const;

const PAUSE_MS = 2_000;

/** Returns the action of a command that reads something, which `--watch` repeats. Ctrl-C ends it with exit code 0. */
export function watched<Arguments extends readonly unknown[]>(
  cli: Cli,
  action: (...args: Arguments) => Promise<void>,
): (...args: Arguments) => Promise<void> {
  return async (...args) => {
    // Commander adds the command itself behind the arguments.
    const command = args.at(-1) as unknown as Command;
    if (command.opts<{ watch?: boolean }>().watch !== true) return action(...args);
    const { clock, output, stopping } = cli;
    if (output.json) throw new UsageError('--watch is for people; programs call the command again.');
    while (!stopping.aborted) {
      const lines = await retryWhileAway(cli, () => output.collect(() => action(...args))).catch((error: unknown) => {
        if (stopping.aborted) return undefined;
        throw error;
      });
      if (lines) output.redraw(lines);
      await delay(clock, PAUSE_MS, stopping);
    }
  };
}
