/** Shared by all parts of the bench: the children, the options, and repeated measurements of one thing. */
import type { Child } from '../child.ts';
import type { Database } from '../database.ts';
import type { Figure, Spread } from '../figure.ts';
import { ofRounds } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import { cpuUs } from '../load/process-usage.ts';
import type { Options } from '../options.ts';
import type { RunFacts } from '../run-facts.ts';

/** Input of every job: about 300 bytes, like a small real input. */
export const INPUT = JSON.stringify({
  prompt: 'a lighthouse in fog, '.repeat(10),
  steps: 20,
  seed: 1_234_567,
  size: [512, 512],
});

/** Settings and processes of a run of the bench. */
export interface Bench {
  options: Options;
  database: Database;
  load: Child;
  /** Collected before the bench itself kept the machine busy. */
  facts: RunFacts;
  /** Reports progress to the user. */
  say(text: string): void;
}

/** Values that are measured in each round of a load. */
type LoadField = 'rate' | 'p50Ms' | 'p95Ms' | 'p99Ms';

/** Result of several rounds: medians, their spread, and the processor time of an answer in microseconds by process. */
export interface Loaded extends LoadResult {
  spread: Record<LoadField, Spread>;
  cpu: Record<string, number>;
}

/** Sends a load: a short one to warm up, then the measured rounds. */
export async function measureLoad(
  bench: Bench,
  load: Omit<Load, 'seconds'>,
  processes: Record<string, number>,
): Promise<Loaded> {
  const { seconds, rounds } = bench.options;
  await bench.load.ask<LoadResult>('run', { ...load, seconds: Math.min(2, seconds) } satisfies Load);
  const results: LoadResult[] = [];
  const before = cpuOf(processes);
  for (let round = 0; round < rounds; round += 1)
    results.push(await bench.load.ask<LoadResult>('run', { ...load, seconds } satisfies Load));
  const loaded = loadedOf(results);
  return { ...loaded, cpu: cpuPer(before, processes, loaded.answers) };
}

/** Combines several rounds into one result. */
export function loadedOf(results: readonly LoadResult[]): Loaded {
  const of = (field: LoadField): ReturnType<typeof ofRounds> => ofRounds(results.map((result) => result[field]));
  const [rate, p50Ms, p95Ms, p99Ms] = [of('rate'), of('p50Ms'), of('p95Ms'), of('p99Ms')];
  return {
    rate: rate.value,
    p50Ms: p50Ms.value,
    p95Ms: p95Ms.value,
    p99Ms: p99Ms.value,
    answers: results.reduce((sum, result) => sum + result.answers, 0),
    cpu: {},
    spread: { rate: rate.spread, p50Ms: p50Ms.spread, p95Ms: p95Ms.spread, p99Ms: p99Ms.spread },
  };
}

/** Returns the CPU time used so far, in microseconds by process. */
export function cpuOf(processes: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuUs(pid)]));
}

/** Returns the CPU time since `before` for each of `count` operations, in microseconds by process. */
export function cpuPer(
  before: Record<string, number>,
  processes: Record<string, number>,
  count: number,
): Record<string, number> {
  return Object.fromEntries(Object.entries(cpuOf(processes)).map(([name, us]) => [name, (us - before[name]!) / count]));
}

/** Returns three figures of one load. `ofHttp`: compares them with the ceiling, which has many connections. */
export function loadFigures(
  name: string,
  path: Figure['path'],
  { spread, ...result }: Loaded,
  ofHttp: boolean,
): Figure[] {
  return [
    { name, path, value: result.rate, spread: spread.rate, unit: '/s', ofHttp, cpu: result.cpu },
    { name: `${name}, p50`, path, value: result.p50Ms, spread: spread.p50Ms, unit: 'ms' },
    { name: `${name}, p99`, path, value: result.p99Ms, spread: spread.p99Ms, unit: 'ms' },
  ];
}
