/** Runs a program to its end, such as pip. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const OUTPUT_LINES_MAX = 200;

/** Settings of a run. */
interface RunProgramOptions {
  /** Ends the program early. */
  signal: AbortSignal;
  /** Called with every line that the program writes. */
  onLine?: ((line: string) => void) | undefined;
  env?: NodeJS.ProcessEnv;
}

/**
 * Runs a program in its own process group and keeps the last lines of its output. A Ctrl-C reaches it only through the
 * signal. Code 127: the program was not found.
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
      // The program may have ended by itself at this moment.
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
