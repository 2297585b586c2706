/**
 * Part `python`: one worker of the real SDK (runpod 1.12.0) with jobs of 5 ms, through the real agent. In turn with it,
 * the SDK's own server.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PYTHONS } from '@slipway/test/helpers/system/handlers';
import type { Figure } from '../figure.ts';
import { ofRounds } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer, loadedOf, loadFigures } from '../stack/bench.ts';
import { fillQueue } from '../stack/fill-queue.ts';
import { startMachine } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { completedAt } from './long-queue.ts';
import { checkOutcomes, databaseNow } from './outcomes.ts';
import { loadLocalServer } from './python-local-server.ts';

/**
 * Concurrency of the worker, number of jobs, target in jobs a second, and clients that each wait for their job's
 * result. A client's job waits behind the other clients' jobs.
 */
const SHAPES = [
  { concurrency: 1, jobs: 500, target: 50, waiting: 8 },
  { concurrency: 50, jobs: 5_000, target: 1_500, waiting: 64 },
] as const;
type Shape = (typeof SHAPES)[number];
/** Output of short_handler.py. */
const OUTPUT = { ok: true };

/** Result of one worker in one round. */
interface Round {
  rate: number;
  cpu: Record<string, number>;
  waited: LoadResult;
  /** Result of the SDK's own server. */
  local: LoadResult;
}

/** Measures jobs a second. The first fifth of the jobs is not counted, because core learns in it how short they are. */
export async function measurePython(bench: Bench): Promise<Figure[]> {
  if (!existsSync(PYTHONS.new)) {
    bench.say('python: not measured, because there are no Python workers: run `npm run test:python`');
    return [];
  }
  const figures: Figure[] = [];
  for (const shape of SHAPES) {
    const rounds: Round[] = [];
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      bench.say(`python worker, concurrency ${shape.concurrency}, ${shape.jobs} jobs of 5 ms, round ${round}`);
      const stack = await startStack(bench);
      try {
        const own = await measureWorker(bench, stack, shape);
        rounds.push({ ...own, local: await loadLocalServer(bench, shape.concurrency) });
      } finally {
        await stack.stop();
      }
    }
    figures.push(...figuresOf(rounds, shape));
  }
  return figures;
}

function figuresOf(rounds: readonly Round[], { concurrency, target, waiting }: Shape): Figure[] {
  const rates = ofRounds(rounds.map(({ rate }) => rate));
  const waited = loadedOf(rounds.map((round) => round.waited));
  return [
    {
      name: `python worker, jobs of 5 ms ×${concurrency}`,
      path: 'agent',
      ...rates,
      unit: '/s',
      target,
      cpu: rounds.at(-1)!.cpu,
    },
    ...loadFigures(`POST /runsync ×${waiting} to it, jobs of 5 ms ×${concurrency}`, 'agent', waited, false),
    {
      name: `the SDK's own local server ×${concurrency}, the same jobs`,
      path: '',
      ...ofRounds(rounds.map(({ local }) => local.rate)),
      unit: '/s',
    },
  ];
}

async function measureWorker(
  bench: Bench,
  stack: Stack,
  { concurrency, jobs, waiting }: Shape,
): Promise<Omit<Round, 'local'>> {
  const command = [
    'env',
    `CONCURRENCY=${concurrency}`,
    PYTHONS.new,
    join(import.meta.dirname, '../workers/short_handler.py'),
  ];
  const endpointId = await stack.createEndpoint(1, command);
  const machine = await startMachine(stack, 'agent', endpointId, { workers: 1 });
  try {
    const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
    const before = cpuOf(processes);
    await fillQueue(stack, endpointId, jobs);
    await completedAt(stack, endpointId, jobs);
    const cpu = cpuPer(before, processes, jobs);
    await checkOutcomes(stack, endpointId, { jobs, output: OUTPUT });
    const [row] = await stack.sql<{ rate: number }[]>`
      SELECT count(*) FILTER (WHERE place > 0.2) / extract(epoch FROM max(finished_at) - max(finished_at)
        FILTER (WHERE place <= 0.2))::float8 AS rate
      FROM (SELECT finished_at, percent_rank() OVER (ORDER BY finished_at) AS place FROM job
        WHERE endpoint_id = ${endpointId}) AS j`;
    const since = await databaseNow(stack);
    const waited = await bench.load.ask<LoadResult>('run', {
      url: `${stack.url}/v2/${endpointId}/runsync`,
      headers: { authorization: `Bearer ${stack.key}` },
      body: '{"input":{"a":1}}',
      expect: '"COMPLETED"',
      connections: waiting,
      seconds: bench.options.seconds,
    } satisfies Load);
    await checkOutcomes(stack, endpointId, { jobs: waited.answers, output: OUTPUT, since });
    return { rate: row!.rate, cpu, waited };
  } finally {
    await machine.stop();
  }
}
