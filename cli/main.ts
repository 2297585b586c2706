/** Runs one command line and returns its exit code. */

import { ConfigError } from '@slipway/kit/host/env';
import { systemTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import { CommanderError } from 'commander';
import { Cli } from './cli.ts';
import type { CliConfig } from './config.ts';
import { readCliConfig } from './config.ts';
import { EXIT, InterruptedError, RejectedError, UnreachableError, UsageError } from './failures.ts';
import type { Sink } from './output/output.ts';
import { Output } from './output/output.ts';
import { buildProgram } from './program.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Dependencies of a command. */
interface MainDependencies {
  /** Reads the configuration. Throws ConfigError. */
  config(): CliConfig;
  stdout: Sink;
  stderr: Sink;
  stdin: AsyncIterable<Buffer>;
  /** Aborts with an InterruptedError when the command is to end. */
  stopping: AbortSignal;
  /** See CliParts. Default: false. */
  replacesProcess?: boolean;
}

/** Runs a command line with the streams of this process. `args` are those after the program's name. */
export async function main(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  for (const signal of SIGNALS) process.on(signal, () => stopping.abort(new InterruptedError(signal)));
  watchOutputs();
  const { stdout, stderr, stdin } = process;
  // With an IPC channel another Node waits for this process, and ends it when it is killed itself.
  const replacesProcess = !process.connected;
  return await runCommand(args, {
    config: readCliConfig,
    stdout,
    stderr,
    stdin,
    stopping: stopping.signal,
    replacesProcess,
  });
}

/** Runs a command line with the given streams. */
export async function runCommand(
  args: readonly string[],
  { config: read, stdout, stderr, stdin, stopping, replacesProcess = false }: MainDependencies,
): Promise<number> {
  const output = new Output(stdout, stderr, systemClock);
  const config = readConfig(read, output);
  if (!config) return EXIT.usage;
  const cli = new Cli({
    config,
    output,
    transport: systemTransport,
    clock: systemClock,
    random: systemRandom,
    stopping,
    stdin,
    replacesProcess,
  });
  const program = buildProgram(cli, { out: (text) => stdout.write(text), err: (text) => stderr.write(text) });
  try {
    await program.parseAsync([...args], { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return report(error, output);
  } finally {
    output.clearProgress();
    cli.close();
  }
}

/** Returns the configuration. `undefined` if it is invalid; the error is already written. */
function readConfig(read: () => CliConfig, output: Output): CliConfig | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    output.error(error.message);
    return undefined;
  }
}

/** Exits when an output fails. EPIPE is no error: a reader such as `head` may stop early. A full disk is one. */
function watchOutputs(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok);
      if (stream === process.stdout) process.stderr.write(`error: The output cannot be written: ${error.message}\n`);
      process.exit(EXIT.refused);
    });
  }
}

/** Writes the reason for a failure and returns the exit code. */
function report(error: unknown, output: Output): number {
  if (error instanceof CommanderError) return reportUsage(error, output);
  if (error instanceof InterruptedError) return error.exitCode;
  if (error instanceof CoreError) output.error(`${error.reason}: ${error.message}`);
  else if (error instanceof UsageError || error instanceof RejectedError || error instanceof UnreachableError)
    output.error(error.message);
  else output.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
  if (error instanceof UsageError) return EXIT.usage;
  return error instanceof UnreachableError ? EXIT.unreachable : EXIT.refused;
}

/** Returns the exit code of commander's errors. Help and version were requested; everything else is a usage error. */
function reportUsage(error: CommanderError, output: Output): number {
  if (error.exitCode === 0) return EXIT.ok;
  // A group without a command has already shown its help.
  if (error.code !== 'commander.help')
    output.error(`${error.message.replace(/^error: /, '')}\nThe option --help shows what is right.`);
  return EXIT.usage;
}
