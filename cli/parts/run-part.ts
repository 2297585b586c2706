/**
 * Runs a part of Slipway (core, facade, agent or edge). The part takes the place of the command in its process, so that
 * it costs no more than the part itself, and signals and supervisors reach it directly.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { NODE_ENVIRONMENT, NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { Cli } from '../cli.ts';
import { InterruptedError, UsageError } from '../failures.ts';
import { findProgram } from './installed.ts';

/** A part to run. */
interface Part {
  /** Entry module: `@slipway/core/main`. */
  module: string;
  /** Arguments. Default: none. */
  args?: readonly string[];
  /** Variables that override the command's own. `undefined` unsets a variable. */
  env: Readonly<Record<string, string | undefined>>;
  /**
   * The program ends by itself and reads this command's stdin. It never takes the place of this process: Node would
   * leave a stdin that others share in another mode than it found it. Default: false.
   */
  isCommand?: boolean;
}

/** Runs a part until it ends. Its exit code becomes the command's. Does not return if the part runs in its place. */
export async function runPart(cli: Cli, { module, args = [], env: overrides, isCommand = false }: Part): Promise<void> {
  const { config, output } = cli;
  const signals = import.meta.resolve('@slipway/kit/host/command-signals');
  const ofNpm = config.env['npm_lifecycle_event'] === undefined ? '' : '?npm';
  const argv = [...NODE_FLAGS, '--import', signals + ofNpm, programOf(module), ...args];
  const format = output.json ? { SLIPWAY_LOG_FORMAT: 'json' } : {};
  const env = defined({ ...NODE_ENVIRONMENT, ...config.env, ...format, ...overrides });
  if (cli.replacesProcess && !isCommand) process.execve?.(process.execPath, [process.execPath, ...argv], env);
  // The IPC channel lets the child notice when this process is killed.
  const child = spawn(process.execPath, argv, {
    env,
    cwd: config.workingDir,
    stdio: [isCommand ? 'inherit' : 'ignore', 'inherit', 'inherit', 'ipc'],
  });
  cli.stopping.addEventListener('abort', () => child.kill(signalOf(cli.stopping)), { once: true });
  cli.exitCode = await exitCodeOf(child);
}

/** Returns the path of a part's program. Throws UsageError if the part's package is not installed. */
function programOf(module: string): string {
  const program = findProgram(module);
  if (program !== undefined) return program;
  const name = module.split('/').slice(0, 2).join('/');
  throw new UsageError(`This installation has no ${name}. Install it beside this command: npm install ${name}`);
}

/** Returns the variables that have a value. */
function defined(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const entries = Object.entries(variables).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
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
