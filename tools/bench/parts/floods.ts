/**
 * Part `floods`: how much an account is affected by another one that ignores its limits. Measured for each kind of
 * flood.
 */

import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import type { Flood, FloodResult } from '../load/flood-load.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT } from '../stack/bench.ts';
import { workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { makeLoudAccount } from './loud-account.ts';

const SLOWER_MOST = 2;
/** Time for the flood to build up before it is measured, in milliseconds. */
const RISE_MS = 1_000;
/** Requests a second of the measured account, within its limits. */
const PROBES_PER_SECOND = 40;

export async function measureFloods(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(
    bench,
    { SLIPWAY_RATE_LIMITS: 'true', SLIPWAY_WEBHOOK_ALLOW_PRIVATE: 'true' },
    { watchLoops: true },
  );
  const stops: (() => Promise<void>)[] = [() => stack.stop()];
  try {
    const flooder = await Child.start('tools/bench/load/flood-load.ts');
    stops.push(() => flooder.stop());
    const loud = await makeLoudAccount(stack);
    stops.push(() => loud.stop());
    const quiet = await stack.createEndpoint(0, workerCommand());
    const quietJob = await submitOne(stack, quiet);
    const probes: [string, Partial<Load>][] = [
      ['/run', { paths: [`/v2/${quiet}/run`] }],
      ['status', { method: 'GET', paths: [`/v2/${quiet}/status/${quietJob}`], body: '' }],
    ];
    const figures: Figure[] = [];
    for (const [name, flood] of loud.kinds) {
      if (!bench.options.floods.split(',').some((text) => name.includes(text))) continue;
      const whole: Flood = { body: '', headers: { authorization: `Bearer ${loud.key}` }, ...flood, url: stack.url };
      const { ratios, said } = await besides(bench, { stack, flooder, probes, flood: whole });
      bench.say(`${name}: ${said}`);
      for (const [probe, p50, p99] of ratios) {
        figures.push({ name: `${name}: another's ${probe}, p50`, path: '', value: p50, unit: '×' });
        figures.push({
          name: `${name}: another's ${probe}, p99`,
          path: '',
          value: p99,
          unit: '×',
          target: SLOWER_MOST,
        });
      }
    }
    return figures;
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

interface Beside {
  stack: Stack;
  flooder: Child;
  probes: [string, Partial<Load>][];
  flood: Flood;
}

/** Measures in turn without and with the flood. Returns medians over the rounds of the ratios of each pair. */
async function besides(
  bench: Bench,
  { stack, flooder, probes, flood }: Beside,
): Promise<{ ratios: [string, number, number][]; said: string }> {
  const { seconds, rounds } = bench.options;
  const probe = (more: Partial<Load>): Promise<LoadResult> =>
    bench.load.ask<LoadResult>('run', {
      url: stack.url,
      headers: { authorization: `Bearer ${stack.key}` },
      body: `{"input":${INPUT}}`,
      expect: '"id"',
      connections: 1,
      seconds,
      ...more,
      perSecond: PROBES_PER_SECOND,
    });
  const pairs: [LoadResult, LoadResult][][] = probes.map(() => []);
  const counts: FloodResult = {};
  const turns: { core: number; facade: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const alone: LoadResult[] = [];
    for (const [, more] of probes) alone.push(await probe(more));
    await flooder.ask('begin', flood);
    await new Promise((resolve) => {
      setTimeout(resolve, RISE_MS);
    });
    await longestTurns(stack);
    for (const [index, [, more]] of probes.entries()) pairs[index]!.push([alone[index]!, await probe(more)]);
    turns.push(await longestTurns(stack));
    const answered = await flooder.ask<FloodResult>('end');
    for (const [status, count] of Object.entries(answered)) counts[status] = (counts[status] ?? 0) + count;
    // Waits until the requests that the flood left in progress have ended.
    await new Promise((resolve) => {
      setTimeout(resolve, 2 * RISE_MS);
    });
  }
  const ratio = (of: [LoadResult, LoadResult][], field: 'p50Ms' | 'p99Ms'): number =>
    median(of.map(([alone, beside]) => beside[field] / alone[field]));
  const msOf = (index: number): string =>
    [0, 1].map((side) => median(pairs[index]!.map((pair) => pair[side]!.p99Ms)).toFixed(1)).join(' → ');
  const longestOf = (program: 'core' | 'facade'): string => median(turns.map((of) => of[program])).toFixed(1);
  const answers = Object.entries(counts)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ');
  const times = probes.map(([name], index) => `${name} ${msOf(index)}`).join(', ');
  return {
    ratios: probes.map(([name], index) => [name, ratio(pairs[index]!, 'p50Ms'), ratio(pairs[index]!, 'p99Ms')]),
    said: `${answers}; p99 of ${times} ms; longest turns: core ${longestOf('core')}, facade ${longestOf('facade')} ms`,
  };
}

/** Returns the longest processor times that the event loops were busy at a stretch since the last call. */
async function longestTurns({ children }: Stack): Promise<{ core: number; facade: number }> {
  const [core, facade] = [await children.core.ask<number>('loopMs'), await children.facade.ask<number>('loopMs')];
  return { core, facade };
}

async function submitOne({ url, key }: Stack, endpointId: string): Promise<string> {
  const answer = await fetch(`${url}/v2/${endpointId}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: `{"input":${INPUT}}`,
  });
  return ((await answer.json()) as { id: string }).id;
}
