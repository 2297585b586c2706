/**
 * Runs test files side by side and writes their output as one TAP stream, each file a subtest; the files that take
 * longest go first. `tap run` would do it too, but puts a loader of its own (for coverage, which nobody reads here)
 * into every Node process that a test starts: that doubled the run. Most files share a few processes, which halved it
 * again. Arguments: `--jobs=N`, `--spare=N` for so many more while processors idle, then the files. Ends with 1 when a
 * file failed.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@slipway/kit/time/clock';
import { SpareProcessors } from './spare-processors.ts';
import { readDeclaration } from './test-declaration.ts';
import type { FileResult } from './test-process.ts';
import { runAlone, SharedProcess } from './test-process.ts';

/** What the pool is told besides the files. */
const COUNTS = { jobs: { type: 'string', default: '2' }, spare: { type: 'string', default: '0' } } as const;

const root = join(import.meta.dirname, '../..');

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
  const declared = new Map(positionals.map((file) => [file, readDeclaration(root, file)]));
  // A long file that starts last would be waited for alone.
  const waiting = positionals.toSorted((a, b) => declared.get(b)!.seconds - declared.get(a)!.seconds);
  const hasPostgres = (process.env.SLIPWAY_TEST_POSTGRES ?? '') !== '';
  /** Without a PostgreSQL for all, a file's process starts one for itself, which ends with the process. */
  const mayShare = (file: string): boolean =>
    !declared.get(file)!.alone && (hasPostgres || !declared.get(file)!.needs.has('postgres'));
  const report = new Report();
  process.stdout.write('TAP version 14\n');
  const jobs = Math.max(1, Number(values.jobs));
  const processors = new SpareProcessors(systemClock);
  await Promise.all(
    Array.from({ length: jobs + Number(values.spare) }, async (_, slot) => {
      const shared = new SharedProcess(slot, systemClock);
      const next = async (): Promise<string | undefined> => {
        if (slot >= jobs) await processors.free(() => waiting.length > 0);
        return waiting.shift();
      };
      for (let file = await next(); file !== undefined; file = await next()) {
        const startedMs = systemClock.monotonicMs();
        const result = mayShare(file) ? await shared.run(resolve(root, file)) : await runAlone(file, slot, systemClock);
        report.add(file, result, systemClock.monotonicMs() - startedMs);
      }
      const open = await shared.end();
      if (open !== undefined) report.fail(`the files that shared process ${slot}: they left something open`, open);
    }),
  );
  report.end();
  return report.failed > 0 ? 1 : 0;
}

process.exitCode = await main();
