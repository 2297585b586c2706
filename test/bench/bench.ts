/** What all parts of the bench share: the children, the options, and how one thing is measured several times. */
import type { Child } from './child.ts';
import type { Database } from './database.ts';
import type { Figure } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import type { Options } from './options.ts';
import { median } from './figure.ts';
import { cpuUs } from './process-usage.ts';

/** The input of every job: about 300 bytes, as a small real one. */
export const INPUT = JSON.stringify({ prompt: 'a lighthouse in fog, '.repeat(10), steps: 20, seed: 1_234_567, size: [512, 512] });

/** The parts of a run. */
export interface Bench {
  options: Options;
  database: Database;
  load: Child;
  /** Tells the user what is going on. */
  say(text: string): void;
}

/** Sends a load, a short one first to warm up, then the measured rounds. Answers medians and CPU time per answer of the named processes. */
export async function measureLoad(
  bench: Bench, load: Omit<Load, 'seconds'>, processes: Record<string, number>,
): Promise<LoadResult & { cpu: Record<string, number> }> {
  const { seconds, rounds } = bench.options;
  await bench.load.ask<LoadResult>('run', { ...load, seconds: Math.min(2, seconds) } satisfies Load);
  const results: LoadResult[] = [];
  const before = cpuOf(processes);
  for (let round = 0; round < rounds; round += 1) results.push(await bench.load.ask<LoadResult>('run', { ...load, seconds } satisfies Load));
  const answers = results.reduce((sum, result) => sum + result.answers, 0);
  const of = (field: keyof LoadResult): number => median(results.map((result) => result[field]));
  return { rate: of('rate'), p50Ms: of('p50Ms'), p95Ms: of('p95Ms'), p99Ms: of('p99Ms'), answers, cpu: cpuPer(before, processes, answers) };
}

/** CPU time so far, in microseconds. */
export function cpuOf(processes: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuUs(pid)]));
}

/** CPU time since `before` for each of `count` operations. */
export function cpuPer(before: Record<string, number>, processes: Record<string, number>, count: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cpuOf(processes)).map(([name, us]) => [name, (us - before[name]!) / count]));
}

/** Three figures of one load. `ofHttp`: compare with the ceiling, which is of many connections. */
export function loadFigures(name: string, path: Figure['path'], result: LoadResult & { cpu: Record<string, number> }, ofHttp: boolean): Figure[] {
  return [
    { name, path, value: result.rate, unit: '/s', ofHttp, cpu: result.cpu },
    { name: `${name}, p50`, path, value: result.p50Ms, unit: 'ms' },
    { name: `${name}, p99`, path, value: result.p99Ms, unit: 'ms' },
  ];
}
