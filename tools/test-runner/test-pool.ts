/**
 * Runs test files in parallel and writes their output as one TAP stream, with each file as a subtest. The files that
 * take longest start first. `tap run` could do this too, but it loads a loader (for coverage, which is not used here)
 * into every Node process that a test starts, which doubled the time of a run. Most files share a few processes, which
 * halved it again. Arguments: `--jobs=N`, `--spare=N` for that many more jobs while processors idle, then the files.
 * Ends with code 1 if a file failed.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@slipway/kit/time/clock';
import { ProcessorTime } from './processor-time.ts';
import { SpareProcessors } from './spare-processors.ts';
import { readDeclaration } from './test-declaration.ts';
import type { FileResult } from './test-process.ts';
import { runAlone, SharedProcess } from './test-process.ts';

/** Options of the pool, besides the files. */
const COUNTS = { jobs: { type: 'string', default: '2' }, spare: { type: 'string', default: '0' } } as const;

const root = join(import.meta.dirname, '../..');

class Report {
  #ended = 0;
  failed = 0;

  /** Writes the output of a file and the line that sums it up. */
  add(file: string, { lines, how }: FileResult, timeMs: number, processorMs: number | undefined): void {
    this.#ended += 1;
    if (how !== 0) this.failed += 1;
    const sum = `${how === 0 ? 'ok' : 'not ok'} ${this.#ended} - ${file} # time=${timeMs.toFixed(0)}ms`;
    const facts = [
      ...(how === 0 ? [] : [`  ended: ${JSON.stringify(how)}`]),
      ...(processorMs === undefined ? [] : [`  processorMs: ${processorMs.toFixed(0)}`]),
    ];
    const diag = facts.length === 0 ? [] : ['  ---', ...facts, '  ...'];
    process.stdout.write([`# Subtest: ${file}`, ...lines.map((line) => `    ${line}`), sum, ...diag, ''].join('\n'));
  }

  /** Reports a failure that belongs to no file. `what` ended, and `how` says in which way. */
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
  // If a long file started last, the run would wait for it alone.
  const waiting = positionals.toSorted((a, b) => declared.get(b)!.seconds - declared.get(a)!.seconds);
  const hasPostgres = (process.env.SLIPWAY_TEST_POSTGRES ?? '') !== '';
  /**
   * Returns true if a file may share a process. Without a common PostgreSQL, a file's process starts its own
   * PostgreSQL, which ends with the process.
   */
  const mayShare = (file: string): boolean =>
    !declared.get(file)!.alone && (hasPostgres || !declared.get(file)!.needs.has('postgres'));
  const report = new Report();
  process.stdout.write('TAP version 14\n');
  const jobs = Math.max(1, Number(values.jobs));
  const processors = new SpareProcessors(systemClock);
  await Promise.all(
    Array.from({ length: jobs + Number(values.spare) }, async (_, slot) => {
      const used = new ProcessorTime(`slipway-tests-${process.pid}-${slot}`);
      const shared = new SharedProcess(slot, systemClock, undefined, used);
      let admitted: Awaited<ReturnType<SpareProcessors['free']>> | undefined;
      const next = async (): Promise<string | undefined> => {
        if (slot >= jobs) admitted = await processors.free(() => waiting.length > 0, admitted);
        return waiting.shift();
      };
      for (let file = await next(); file !== undefined; file = await next()) {
        const startedMs = systemClock.monotonicMs();
        const usedMs = used.usedMs();
        const result = mayShare(file)
          ? await shared.run(resolve(root, file))
          : await runAlone(file, slot, systemClock, used);
        const endMs = used.usedMs();
        // Another run may remove a group that is empty for the moment.
        const processorMs = usedMs === undefined || endMs === undefined ? undefined : endMs - usedMs;
        report.add(file, result, systemClock.monotonicMs() - startedMs, processorMs);
      }
      const open = await shared.end();
      used.remove();
      if (open !== undefined) report.fail(`the files that shared process ${slot}: they left something open`, open);
    }),
  );
  report.end();
  return report.failed > 0 ? 1 : 0;
}

process.exitCode = await main();
