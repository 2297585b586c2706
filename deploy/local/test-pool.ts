/**
 * Runs test files side by side and writes their output as one TAP stream, each file a subtest; the files that wait longest go first. `tap
 * run` would do it too, but puts a loader of its own (for coverage, which nobody reads here) into every Node process that a test starts:
 * that doubled the run. Arguments: `--jobs=N`, then the files. Ends with 1 when a file failed.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { systemClock } from '../../core/runtime/clock.ts';
import type { Clock } from '../../core/runtime/clock.ts';

/** A file that does not say otherwise (`t.setTimeout`) fails after this, in milliseconds. */
const FILE_MS = 300_000;
/** A file that is still there after this is killed, in milliseconds: it is stuck, since it no longer heeds its own limit. */
const STUCK_MS = 900_000;
/** Folders whose files take longest: they start processes and wait for them. One of these at the end would be waited for alone. */
const SLOW_FOLDERS = ['test/examples/', 'test/e2e/', 'test/kill/', 'test/docs/', 'test/deploy/', 'test/facades/cli/', 'test/bad-input/', 'test/spec/'];

interface FileResult {
  lines: string[];
  how: number | NodeJS.Signals;
  timeMs: number;
}

function place(file: string): number {
  const index = SLOW_FOLDERS.findIndex((folder) => file.includes(folder));
  return index < 0 ? SLOW_FOLDERS.length : index;
}

async function runFile(file: string, slot: number, clock: Clock): Promise<FileResult> {
  const startedMs = clock.monotonicMs();
  // TAP says plain TAP instead of colours; the limit is the file's own to heed.
  const env = { ...process.env, TAP: '1', TAP_TIMEOUT: String(FILE_MS / 1000), TAP_JOB_ID: String(slot) };
  const child = spawn(process.execPath, ['--enable-source-maps', file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const stuck = clock.after(STUCK_MS, () => child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const how = await new Promise<number | NodeJS.Signals>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal ?? 1));
  });
  stuck.cancel();
  return { lines, how, timeMs: clock.monotonicMs() - startedMs };
}

function report(number: number, file: string, { lines, how, timeMs }: FileResult): void {
  const sum = `${how === 0 ? 'ok' : 'not ok'} ${number} - ${file} # time=${timeMs.toFixed(0)}ms`;
  const diag = how === 0 ? [] : ['  ---', `  ended: ${how}`, '  ...'];
  process.stdout.write([`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`), sum, ...diag, ''].join('\n'));
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { jobs: { type: 'string', default: '2' } }, allowPositionals: true });
  const waiting = positionals.toSorted((a, b) => place(a) - place(b));
  let ended = 0;
  let failed = 0;
  process.stdout.write(`TAP version 14\n1..${waiting.length}\n`);
  await Promise.all(Array.from({ length: Math.max(1, Number(values.jobs)) }, async (_, slot) => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, slot, systemClock);
      ended += 1;
      if (result.how !== 0) failed += 1;
      report(ended, file, result);
    }
  }));
  return failed > 0 ? 1 : 0;
}

process.exitCode = await main();
