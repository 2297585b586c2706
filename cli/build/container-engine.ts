/** The container engine of this machine, by its program: Podman or Docker. */
import { spawn } from 'node:child_process';
import { printable } from '@slipway/kit/log/printable';
import type { Cli } from '../cli.ts';
import { RejectedError, UsageError } from '../failures.ts';

/** Programs in the order in which they are tried. */
const PROGRAMS = ['podman', 'docker'];
/** Last lines of a failed run that are shown, and most characters of each. */
const LINES_MAX = 20;
const LINE_LENGTH_MAX = 400;

/** Returns the first program that is installed and works. Throws UsageError. */
export async function findEngine(cli: Cli): Promise<string> {
  for (const program of PROGRAMS) {
    const works = await runEngine(cli, program, ['version'], { what: `asking ${program}` }).then(
      () => true,
      (error: unknown) => {
        if (cli.stopping.aborted) throw error;
        return false;
      },
    );
    if (works) return program;
  }
  throw new UsageError(
    'A folder is built with Podman or Docker, and neither works here. Install one, or give --image.',
  );
}

/**
 * Runs the engine and returns its output. Each line that it writes is shown as progress. Throws RejectedError
 * with its last lines if it fails.
 */
export async function runEngine(
  { config, output, stopping }: Cli,
  program: string,
  args: readonly string[],
  { what }: { what: string },
): Promise<string> {
  stopping.throwIfAborted();
  const child = spawn(program, args, { cwd: config.workingDir, env: config.env, stdio: ['ignore', 'pipe', 'pipe'] });
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
