/**
 * Runs test files side by side and writes their output as one TAP stream, each file a subtest; the files that wait longest go first. `tap
 * run` would do it too, but puts a loader of its own (for coverage, which nobody reads here) into every Node process that a test starts:
 * that doubled the run. Most files share a few processes, which halved it again. Arguments: `--jobs=N`, `--spare=N` for so many more while
 * processors idle, then the files. Ends with 1 when a file failed.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../core/runtime/clock.ts';
import { SpareProcessors } from './spare-processors.ts';
import { runsAlone } from './test-alone.ts';
import { SharedProcess, runAlone } from './test-process.ts';
import type { FileResult } from './test-process.ts';

/** Folders whose files take longest: they start processes and wait for them. One of these at the end would be waited for alone. */
const SLOW_FOLDERS = [
  'test/examples/', 'test/e2e/', 'test/kill/', 'test/docs/', 'test/deploy/', 'test/fleet/', 'test/facades/cli/', 'test/bad-input/', 'test/spec/',
];

/** What the pool is told besides the files. */
const COUNTS = { jobs: { type: 'string', default: '2' }, spare: { type: 'string', default: '0' } } as const;

const root = join(import.meta.dirname, '..', '..');

function place(file: string): number {
  const index = SLOW_FOLDERS.findIndex((folder) => file.includes(folder));
  // Of the others the short ones come last, so that no processor waits long for the run's last file.
  return index < 0 ? SLOW_FOLDERS.length + 1 / (1 + limitOf(file)) : index;
}

/** What a file says it may take, in milliseconds; 0 when it says nothing, as the short ones do. */
function limitOf(file: string): number {
  const [, limit = '0'] = /\bt\.setTimeout\(([\d_]+)\)/.exec(readFileSync(resolve(root, file), 'utf8')) ?? [];
  return Number(limit.replaceAll('_', ''));
}

class Report {
  #ended = 0;
  failed = 0;

  /** Writes the output of a file and the line that sums it up. */
  add(file: string, { lines, how }: FileResult, timeMs: number): void {
    this.#ended += 1;
    if (how !== 0) this.failed += 1;
    const sum = `${how === 0 ? 'ok' : 'not ok'} ${this.#ended} - ${file} # time=${timeMs.toFixed(0)}ms`;
    const diag = how === 0 ? [] : ['  ---', `  ended: ${JSON.stringify(how)}`, '  ...'];
    process.stdout.write([`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`), sum, ...diag, ''].join('\n'));
  }

  /** A failure of no file: what ended how. */
  fail(what: string, how: string): void {
    this.#ended += 1;
    this.failed += 1;
    process.stdout.write(`not ok ${this.#ended} - ${what}\n  ---\n  ended: ${JSON.stringify(how)}\n  ...\n`);
  }

  end(): void {
    process.stdout.write(`1..${this.#ended}\n`);
  }
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: COUNTS, allowPositionals: true });
  const places = new Map(positionals.map((file) => [file, place(file)]));
  const waiting = positionals.toSorted((a, b) => places.get(a)! - places.get(b)!);
  // Without a PostgreSQL for all, each process starts one for itself, which ends with its file.
  const mayShare = (process.env.SLIPWAY_TEST_POSTGRES ?? '') !== '';
  const report = new Report();
  process.stdout.write('TAP version 14\n');
  const jobs = Math.max(1, Number(values.jobs));
  const processors = new SpareProcessors(systemClock);
  await Promise.all(Array.from({ length: jobs + Number(values.spare) }, async (_, slot) => {
    const shared = new SharedProcess(slot, systemClock);
    const next = async (): Promise<string | undefined> => {
      if (slot >= jobs) await processors.free(() => waiting.length > 0);
      return waiting.shift();
    };
    for (let file = await next(); file !== undefined; file = await next()) {
      const startedMs = systemClock.monotonicMs();
      const result = mayShare && !runsAlone(root, file) ? await shared.run(join(root, file)) : await runAlone(file, slot, systemClock);
      report.add(file, result, systemClock.monotonicMs() - startedMs);
    }
    const open = await shared.end();
    if (open !== undefined) report.fail(`the files that shared process ${slot}: they left something open`, open);
  }));
  report.end();
  return report.failed > 0 ? 1 : 0;
}

process.exitCode = await main();
