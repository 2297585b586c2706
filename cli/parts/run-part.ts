/**
 * Runs a part of Slipway (core, facade, agent or edge) as a child process for as long as a command runs, and shows its
 * log.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { Cli } from '../cli.ts';
import { InterruptedError, UsageError } from '../failures.ts';
import { agentLogLine } from './agent-log-line.ts';

/** A part to run. */
interface Part {
  /** Entry module: `@slipway/core/main`. */
  module: string;
  /** Arguments. Default: none. */
  args?: readonly string[];
  /** Variables that override those of the command. `undefined` unsets a variable. */
  env: Readonly<Record<string, string | undefined>>;
  /** Receives each line of the log. Returns true to end the part. */
  onLine?(line: string): boolean;
}

/** Runs a part until it ends. A signal to the command is passed on to it. Its exit code becomes the command's. */
export async function runPart(cli: Cli, { module, args = [], env, onLine }: Part): Promise<void> {
  const { config, output } = cli;
  // The IPC channel lets the child notice when this process is killed.
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

/** Resolves packages that are installed beside this command. It carries pieces of some of them inside itself. */
const beside = createRequire(new URL('../../', import.meta.url));

/** Returns the path of a part's program. Throws UsageError if the part's package is not installed. */
function programOf(module: string): string {
  try {
    return beside.resolve(module);
  } catch {
    const name = module.split('/').slice(0, 2).join('/');
    throw new UsageError(`This installation has no ${name}. Install it beside this command: npm install ${name}`);
  }
}

/** Returns the signal for the part. Parts shut down gracefully on these two; SIGHUP would kill them. */
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
