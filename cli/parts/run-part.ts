/**
 * Runs a part of Slipway (core, facade, agent or edge) as a process of its own for as long as a command runs, and shows
 * its log.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { Cli } from '../cli.ts';
import { InterruptedError, UsageError } from '../failures.ts';
import { agentLogLine } from './agent-log-line.ts';

/** What to run. */
export interface Part {
  /** Its entry, as a module: `@slipway/core/main`. */
  module: string;
  /** Its arguments. Default none. */
  args?: readonly string[];
  /** Variables over those of the command; undefined ones are taken away. */
  env: Readonly<Record<string, string | undefined>>;
  /** Sees each line of its log; true: it shall end. */
  onLine?(line: string): boolean;
}

/** Runs it to its end, which a signal to the command asks for; the exit code becomes the command's. */
export async function runPart(cli: Cli, { module, args = [], env, onLine }: Part): Promise<void> {
  const { config, output } = cli;
  // The channel tells it when this process is killed.
  const child = spawn(process.execPath, [...NODE_FLAGS, programOf(module), ...args], {
    env: { ...NODE_ENVIRONMENT, ...config.env, ...env } as NodeJS.ProcessEnv,
    cwd: config.workingDir,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  cli.stopping.addEventListener('abort', () => child.kill(signalOf(cli.stopping)), { once: true });
  for await (const line of createInterface({ input: child.stdout! })) {
    output.line(output.json ? line : agentLogLine(line, output));
    if (onLine?.(line)) child.kill('SIGTERM');
  }
  cli.exitCode = await exitCodeOf(child);
}

/** Returns the path of a part's program. Throws UsageError when the package of the part is not installed. */
function programOf(module: string): string {
  try {
    return fileURLToPath(import.meta.resolve(module));
  } catch {
    const name = module.split('/').slice(0, 2).join('/');
    throw new UsageError(`This installation has no ${name}. Install it beside this command: npm install ${name}`);
  }
}

/** Parts stop in order on these; a hang-up would end them at once. */
function signalOf(stopping: AbortSignal): NodeJS.Signals {
  return stopping.reason instanceof InterruptedError && stopping.reason.signal === 'SIGINT' ? 'SIGINT' : 'SIGTERM';
}

function exitCodeOf(child: ChildProcess): Promise<number> {
  const code = (): number => child.exitCode ?? 128 + (constants.signals[child.signalCode!] ?? 0);
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(code());
  return new Promise((resolve) => {
    child.once('exit', () => resolve(code()));
  });
}
