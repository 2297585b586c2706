/** Part `python`: one worker of the real SDK (runpod 1.12.0), through the real agent, with jobs of 5 ms. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PYTHONS } from '../helpers/handlers.ts';
import { waitFor } from '../helpers/wait-for.ts';
import type { Bench } from './bench.ts';
import { cpuOf, cpuPer } from './bench.ts';
import type { Figure } from './figure.ts';
import { median } from './figure.ts';
import { fillQueue } from './fill-queue.ts';
import type { Load, LoadResult } from './load-generator.ts';
import { startMachine } from './machine.ts';
import { measureLocalServer } from './python-local-server.ts';
import { startStack } from './stack.ts';
import type { Stack } from './stack.ts';

/** Concurrency, jobs, and jobs a second that we want. */
const SHAPES = [{ concurrency: 1, jobs: 500, target: 50 }, { concurrency: 50, jobs: 5_000, target: 1_500 }] as const;
const DRAIN_MS_MAX = 120_000;

/** Clients that each wait for their job's result, at the worker with more room. */
const WAITING = 64;

/** Jobs a second, without the first fifth, in which core learns how short they are. */
export async function measurePython(bench: Bench): Promise<Figure[]> {
  if (!existsSync(PYTHONS.new)) {
    bench.say('python: not measured, because there are no Python workers: run `npm run test:python`');
    return [];
  }
  const figures: Figure[] = [];
  for (const shape of SHAPES) {
    const rates: number[] = [];
    const waits: LoadResult[] = [];
    let cpu: Record<string, number> = {};
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      bench.say(`python worker, concurrency ${shape.concurrency}, ${shape.jobs} jobs of 5 ms, round ${round}`);
      const stack = await startStack(bench);
      try {
        let waited: LoadResult | undefined;
        ({ rate: rates[round - 1], cpu, waited } = await drainOnce(bench, stack, shape));
        if (waited) waits.push(waited);
      } finally {
        await stack.stop();
      }
    }
    figures.push({ name: `python worker, jobs of 5 ms ×${shape.concurrency}`, path: 'agent', value: median(rates), unit: '/s', target: shape.target, cpu });
    if (waits.length > 0) figures.push(...waitedFigures(waits, shape.concurrency));
    figures.push(await measureLocalServer(bench, shape.concurrency));
  }
  return figures;
}

function waitedFigures(waits: readonly LoadResult[], concurrency: number): Figure[] {
  const name = `POST /runsync ×${WAITING} to it, jobs of 5 ms ×${concurrency}`;
  return [
    { name, path: 'agent', value: median(waits.map(({ rate }) => rate)), unit: '/s' },
    { name: `${name}, p50`, path: 'agent', value: median(waits.map(({ p50Ms }) => p50Ms)), unit: 'ms' },
    { name: `${name}, p99`, path: 'agent', value: median(waits.map(({ p99Ms }) => p99Ms)), unit: 'ms' },
  ];
}

interface Drained {
  rate: number;
  cpu: Record<string, number>;
  /** Undefined: this worker has room for one. */
  waited: LoadResult | undefined;
}

async function drainOnce(bench: Bench, stack: Stack, { concurrency, jobs }: (typeof SHAPES)[number]): Promise<Drained> {
  const command = ['env', `CONCURRENCY=${concurrency}`, PYTHONS.new, join(import.meta.dirname, 'short_handler.py')];
  const endpointId = await stack.createEndpoint(1, command);
  const machine = await startMachine(stack, 'agent', endpointId, { workers: 1 });
  try {
    const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
    const before = cpuOf(processes);
    await fillQueue(stack, endpointId, jobs);
    await waitFor(`${jobs} completed jobs`, async () => {
      const [row] = await stack.sql<{ completed: string }[]>`SELECT sum(completed) AS completed FROM endpoint_tally WHERE endpoint_id = ${endpointId}`;
      return Number(row?.completed ?? 0) >= jobs;
    }, DRAIN_MS_MAX);
    const cpu = cpuPer(before, processes, jobs);
    const [row] = await stack.sql<{ rate: number }[]>`
      SELECT count(*) FILTER (WHERE place > 0.2) / extract(epoch FROM max(finished_at) - max(finished_at) FILTER (WHERE place <= 0.2))::float8 AS rate
      FROM (SELECT finished_at, percent_rank() OVER (ORDER BY finished_at) AS place FROM job WHERE endpoint_id = ${endpointId} AND retries = 0) AS j`;
    const waited = concurrency === 1 ? undefined : await bench.load.ask<LoadResult>('run', {
      url: `${stack.url}/v2/${endpointId}/runsync`, headers: { authorization: `Bearer ${stack.key}` }, body: '{"input":{"a":1}}', expect: '"COMPLETED"',
      connections: WAITING, seconds: bench.options.seconds,
    } satisfies Load);
    return { rate: row!.rate, cpu, waited };
  } finally {
    await machine.stop();
  }
}
