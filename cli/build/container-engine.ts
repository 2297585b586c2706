/** A container engine, used through its program: Podman or Docker, of this machine or of another one. */
import { spawn } from 'node:child_process';
import { printable } from '@slipway/kit/log/printable';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';

/** Programs in the order in which they are tried, each with its option for the address of an engine elsewhere. */
const PROGRAMS = { podman: '--url', docker: '--host' } as const;
/**
 * Addresses that both programs take. SSH checks who may use the engine of another machine. Docker may pass the name of
 * the machine to `ssh` as it is, where a leading hyphen makes it an option that runs a command. A password would be
 * shown.
 */
const ADDRESS = /^(ssh:\/\/([^\s/@:-][^\s/@:]*@)?[^\s/@-][^\s/@]*(\/\S*)?|unix:\/\/\/\S+)$/;
/** Last lines of a failed run that are shown, and most characters of each. */
const LINES_MAX = 20;
const LINE_LENGTH_MAX = 400;

/** An engine that works. */
interface Engine {
  /** Its program. */
  program: keyof typeof PROGRAMS;
  /** Its program and machine, for messages: `podman of this machine`. */
  where: string;
  /** Arguments before each command. */
  args: readonly string[];
}

/**
 * Returns the engine of the first program that is installed and reaches one. `address`: ssh:// or unix:// of an engine
 * elsewhere; default: that of this machine. `only`: the one program to try; default: all. Throws UsageError.
 */
export async function findEngine(cli: Cli, address?: string, only?: Engine['program']): Promise<Engine> {
  if (address !== undefined && !ADDRESS.test(address))
    throw new UsageError(
      '--on takes the name of a machine, ssh://USER@MACHINE without a password, with the path of its socket for ' +
        'Podman, or unix:///SOCKET.',
    );
  const faults: string[] = [];
  for (const program of Object.keys(PROGRAMS) as Engine['program'][]) {
    if (only !== undefined && program !== only) continue;
    const args = address === undefined ? [] : [PROGRAMS[program], address];
    const where = `${program} ${address === undefined ? 'of this machine' : `at ${address}`}`;
    const engine = { program, where, args };
    try {
      await runEngine(cli, engine, ['version'], { what: `asking ${where}` });
      return engine;
    } catch (error) {
      if (cli.stopping.aborted) throw error;
      faults.push((error as Error).message);
    }
  }
  if (address !== undefined)
    throw new RejectedError([`Neither Podman nor Docker reaches an engine at ${address}.`, ...faults].join('\n'));
  throw new UsageError(
    'A folder is built with Podman or Docker, and neither works here. Install one, or give --image or --on.',
  );
}

/**
 * Runs the engine and returns its output. Each line that it writes is shown as progress. Throws RejectedError
 * with its last lines if it fails.
 */
export async function runEngine(
  { config, output, stopping }: Cli,
  { program, args: first }: Engine,
  args: readonly string[],
  { what }: { what: string },
): Promise<string> {
  stopping.throwIfAborted();
  const child = spawn(program, [...first, ...args], {
    cwd: config.workingDir,
    env: config.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stop = (): void => {
    child.kill();
  };
  stopping.addEventListener('abort', stop, { once: true });
  const lines: string[] = [];
  let answer = '';
  const show = (chunk: Buffer): void => {
    for (const line of String(chunk).split(/[\r\n]+/)) {
      if (line.trim() === '') continue;
      lines.push(printable(line.slice(0, LINE_LENGTH_MAX)));
      if (lines.length > LINES_MAX) lines.shift();
      output.progress(what, lines.at(-1));
    }
  };
  child.stdout.on('data', (chunk: Buffer) => {
    answer += String(chunk);
    show(chunk);
  });
  child.stderr.on('data', show);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    stopping.throwIfAborted();
    if (code === 0) return answer;
    throw new RejectedError([`${program} failed, ${what}:`, ...lines].join('\n'));
  } finally {
    stopping.removeEventListener('abort', stop);
    output.clearProgress();
  }
}
