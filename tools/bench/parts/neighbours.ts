/**
 * Part `neighbours`: many endpoints with a load as uneven as in real use, and a small endpoint beside one that is
 * flooded.
 */

import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench, Loaded } from '../stack/bench.ts';
import { INPUT, loadFigures, measureLoad } from '../stack/bench.ts';
import { startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

/** Endpoints that are created in parallel, and requests after which the order of endpoints repeats. */
const CREATED_AT_ONCE = 20;
const ORDER = 20_000;
const SHARE_LEAST_PERCENT = 80;
const SLOWER_MOST = 2;

export async function measureNeighbours(bench: Bench): Promise<Figure[]> {
  return [...(await measureMany(bench)), ...(await measureSmall(bench))];
}

function loadOn(stack: Stack): Omit<Load, 'seconds' | 'connections' | 'expect'> {
  return { url: stack.url, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}` };
}

/**
 * Measures POST /run to one endpoint, then to all of them. The second most used endpoint gets half as many requests as
 * the first, the third a third.
 */
async function measureMany(bench: Bench): Promise<Figure[]> {
  const { endpoints } = bench.options;
  const stack = await startStack(bench);
  try {
    bench.say(`creating ${endpoints} endpoints`);
    const ids: string[] = [];
    for (let from = 0; from < endpoints; from += CREATED_AT_ONCE) {
      const some = Array.from({ length: Math.min(CREATED_AT_ONCE, endpoints - from) }, () =>
        stack.createEndpoint(0, workerCommand()),
      );
      ids.push(...(await Promise.all(some)));
    }
    const measure = async (paths: string[]): Promise<Loaded> => {
      bench.say(`POST /run, 64 connections, ${new Set(paths).size} endpoints`);
      const { facade, core, postgres } = stack.processes;
      return measureLoad(
        bench,
        { ...loadOn(stack), paths, expect: '"IN_QUEUE"', connections: 64 },
        { facade, core, postgres, load: bench.load.pid },
      );
    };
    const one = await measure([`/v2/${ids[0]}/run`]);
    const all = await measure(zipf(ids).map((id) => `/v2/${id}/run`));
    return [
      ...loadFigures('POST /run ×64, one endpoint', '', one, false),
      ...loadFigures(`POST /run ×64, ${endpoints.toLocaleString('en')} endpoints`, '', all, false),
      {
        name: 'of the rate of one endpoint',
        path: '',
        value: (100 * all.rate) / one.rate,
        unit: '%',
        target: SHARE_LEAST_PERCENT,
      },
    ];
  } finally {
    await stack.stop();
  }
}

/** Returns the order of the endpoints, the same in every run. */
function zipf(ids: readonly string[]): string[] {
  const sums: number[] = [];
  for (let rank = 1; rank <= ids.length; rank += 1) sums.push((sums.at(-1) ?? 0) + 1 / rank);
  // Multiples of the golden ratio are evenly spread and never repeat.
  return Array.from({ length: ORDER }, (_, turn) => {
    const point = ((turn * 0.618_033_988_749_895) % 1) * sums.at(-1)!;
    return ids[sums.findIndex((sum) => sum >= point)]!;
  });
}

/**
 * Measures POST /runsync ×1 to an endpoint with its own worker: alone, and while another endpoint gets all the
 * load that it can take.
 */
async function measureSmall(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  const flooder = await Child.start('tools/bench/load/load-generator.ts');
  try {
    const small = await stack.createEndpoint(1, workerCommand());
    const first = await startMachine(stack, 'agent', small, { workers: 1 });
    const flooded = await stack.createEndpoint(1, workerCommand());
    const second = await startMachine(stack, 'agent', flooded, { workers: 1 });
    try {
      const load = { ...loadOn(stack), paths: [`/v2/${small}/runsync`], expect: '"COMPLETED"', connections: 1 };
      bench.say('a small endpoint, POST /runsync ×1, alone');
      const quiet = await measureLoad(bench, load, {});
      bench.say('the same beside a flooded one, POST /run ×64');
      const { seconds, rounds } = bench.options;
      const floodSeconds = Math.min(2, seconds) + seconds * rounds;
      const flood = flooder.ask<LoadResult>('run', {
        ...loadOn(stack),
        paths: [`/v2/${flooded}/run`],
        expect: '"id"',
        connections: 64,
        seconds: floodSeconds,
      });
      const beside = await measureLoad(bench, load, {});
      const { rate } = await flood;
      return [
        ...loadFigures('small endpoint alone, POST /runsync ×1', 'agent', quiet, false),
        ...loadFigures('small endpoint beside a flooded one', 'agent', beside, false),
        { name: 'the flood, POST /run ×64', path: 'agent', value: rate, unit: '/s' },
        {
          name: 'p99 beside the flood, of that alone',
          path: 'agent',
          value: beside.p99Ms / quiet.p99Ms,
          unit: '×',
          target: SLOWER_MOST,
        },
      ];
    } finally {
      await first.stop();
      await second.stop();
    }
  } finally {
    await flooder.stop();
    await stack.stop();
  }
}
