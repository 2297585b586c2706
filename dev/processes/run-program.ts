/** Runs a program that makes something for us, such as pip. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const OUTPUT_LINES_MAX = 200;

/** What to run it with. */
export interface RunProgramOptions {
  /** Ends it early. */
  signal: AbortSignal;
  /** Hears every line it writes. */
  onLine?: ((line: string) => void) | undefined;
  env?: NodeJS.ProcessEnv;
}

/**
 * Runs it in a group of its own (a Ctrl-C reaches it through the signal only) and keeps the last lines that it writes.
 * Code 127: not there.
 */
export function runProgram(
  program: string,
  args: string[],
  { signal, onLine, env }: RunProgramOptions,
): Promise<{ code: number; output: string[] }> {
  return new Promise((resolve) => {
    const output: string[] = [];
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true, ...(env && { env }) });
    const stop = (): void => {
      // It may have ended by itself in this very moment.
      try {
        if (child.pid) process.kill(-child.pid, 'SIGTERM');
      } catch {
        return;
      }
    };
    signal.addEventListener('abort', stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        if (output.push(line) > OUTPUT_LINES_MAX) output.shift();
        onLine?.(line);
      });
    }
    child.once('error', (error) => resolve({ code: 127, output: [error.message] }));
    child.once('close', (code) => {
      signal.removeEventListener('abort', stop);
      resolve({ code: code ?? 1, output });
    });
    if (signal.aborted) stop();
  });
}
