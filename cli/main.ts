/** Runs one command line and returns its exit code. */

import { ConfigError } from '@slipway/kit/host/env';
import { networkTransport } from '@slipway/kit/net/channel';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { CommanderError } from 'commander';
import type { StdinStream } from './cli.ts';
import { Cli } from './cli.ts';
import { expandNoun, suggestionFor } from './command-words.ts';
import type { CliConfig } from './config.ts';
import { readCliConfig } from './config.ts';
import { EXIT, failureOf, InterruptedError, UsageError } from './failures.ts';
import type { Sink } from './output/output.ts';
import { Output } from './output/output.ts';
import { CLI_VERSION } from './parts/installed.ts';
import { buildProgram } from './program.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Dependencies of a command. */
interface MainDependencies {
  /** Reads the configuration. Throws ConfigError. */
  config(): CliConfig;
  stdout: Sink;
  stderr: Sink;
  stdin: StdinStream;
  /** Aborts with an InterruptedError when the command is to end. */
  stopping: AbortSignal;
  /** See CliParts. Default: false. */
  replacesProcess?: boolean;
  /** Called before the command runs. */
  onStart?(cli: Cli): void;
}

/** Runs a command line with the streams of this process. `args` are those after the program's name. */
export async function main(args: readonly string[]): Promise<number> {
  const stopping = new AbortController();
  for (const signal of SIGNALS) process.on(signal, () => stopping.abort(new InterruptedError(signal)));
  const outputs = watchOutputs();
  const { stdout, stderr, stdin } = process;
  // With an IPC channel another Node waits for this process, and ends it when it is killed itself.
  const replacesProcess = !process.connected;
  const code = await runCommand(args, {
    config: readCliConfig,
    stdout,
    stderr,
    stdin,
    stopping: stopping.signal,
    replacesProcess,
    onStart: (cli) => {
      outputs.cli = cli;
    },
  });
  return code === EXIT.ok && outputs.failed ? EXIT.refused : code;
}

/** Runs a command line with the given streams. */
export async function runCommand(
  args: readonly string[],
  { config: read, stdout, stderr, stdin, stopping, replacesProcess = false, onStart }: MainDependencies,
): Promise<number> {
  const output = new Output(stdout, stderr, systemClock);
  // Errors of usage come before options are known.
  output.json = optionsOf(args).includes('--json');
  const config = readConfig(read, output);
  if (!config) return EXIT.usage;
  const cli = new Cli({
    config,
    output,
    transport: networkTransport({ name: 'cli', version: CLI_VERSION }),
    clock: systemClock,
    random: systemRandom,
    stopping,
    stdin,
    replacesProcess,
  });
  onStart?.(cli);
  const program = buildProgram(cli, { out: (text) => stdout.write(text), err: (text) => stderr.write(text) });
  try {
    await program.parseAsync(expandNoun(program, args), { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    // The exit code stands, whether or not its reason can be written.
    cli.mustFinish = true;
    return report(error, output, suggestionFor(program, args));
  } finally {
    output.clearProgress();
    cli.close();
  }
}

/** Returns the words before `--`. */
function optionsOf(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

/** Returns the configuration. `undefined` if it is invalid; the error is already written. */
function readConfig(read: () => CliConfig, output: Output): CliConfig | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    output.error(failureOf(new UsageError(error.message)));
    return undefined;
  }
}

/**
 * Exits when an output fails. EPIPE is no error: a reader such as `head` may stop early. A full disk is one. A command
 * that changes something continues to its end, so that it is never half done.
 */
function watchOutputs(): { cli?: Cli; failed: boolean } {
  const outputs: ReturnType<typeof watchOutputs> = { failed: false };
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      const isGone = error.code === 'EPIPE';
      if (stream === process.stdout && !isGone && !outputs.failed)
        process.stderr.write(`error: The output cannot be written: ${error.message}\n`);
      outputs.failed ||= !isGone;
      if (!outputs.cli?.mustFinish) process.exit(isGone ? EXIT.ok : EXIT.refused);
      // The last words of a command may fail after its end.
      if (!isGone) process.exitCode ||= EXIT.refused;
    });
  }
  return outputs;
}

/** Writes the reason for a failure and returns the exit code. */
function report(error: unknown, output: Output, suggestion: string): number {
  if (error instanceof InterruptedError) return error.exitCode;
  // Help and version were asked for, and a group without a command has already shown its help.
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.ok;
  if (error instanceof CommanderError && error.code === 'commander.help') return EXIT.usage;
  const isUnknown = error instanceof CommanderError && error.code === 'commander.unknownCommand';
  const failure = failureOf(error, isUnknown ? suggestion : '');
  output.error(failure);
  return failure.exitCode;
}
