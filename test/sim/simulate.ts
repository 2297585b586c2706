/** Runs seeds of the simulation in a process of their own, whose time is virtual, for a test. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { SeedsReport } from './run-seeds.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

/** Runs `npm run sim` with these arguments. Resolves with its exit code and its report. */
export function simulate(
  ...args: string[]
): Promise<{ code: number | string | null | undefined; report: SeedsReport }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [MAIN, '--json', ...args], { maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (stdout === '') reject(new Error(stderr));
      else resolve({ code: error === null ? 0 : error.code, report: JSON.parse(stdout) as SeedsReport });
    });
  });
}
