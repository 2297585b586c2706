/** Part `reading`: reads the states of random jobs, and live streams that many readers follow. */
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { ofRounds, worstOf } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer, loadFigures, measureLoad } from '../stack/bench.ts';
import { fillQueue } from '../stack/fill-queue.ts';
import { benchFile, NODE_WITH_HANDLERS, SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { watchLease } from '../stack/watch-lease.ts';
import { databaseNow } from './outcomes.ts';
import type { StreamsRead } from './stream-readers.ts';

const STATUS_JOBS = 20_000;
const STATUS_RATE_MIN = 10_000;
/** Same values as in stream-handler.js. */
const CHUNKS_PER_SECOND = 20;
const STREAMS_PER_WORKER = 100;
const DONE_MS_MAX = 120_000;

export async function measureReading(bench: Bench): Promise<Figure[]> {
  return [...(await measureStatus(bench)), ...(await measureStreams(bench))];
}

async function measureStatus(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench);
  try {
    bench.say(`GET /status of ${STATUS_JOBS} jobs at random, 64 connections`);
    const endpointId = await stack.createEndpoint(SHAPES.session.workers, workerCommand());
    await fillQueue(stack, endpointId, STATUS_JOBS);
    const machine = await startMachine(stack, 'session', endpointId);
    await waitFor(
      'their ends',
      async () => {
        const [row] = await stack.sql`SELECT coalesce(sum(completed), 0)::int AS completed FROM endpoint_tally
            WHERE endpoint_id = ${endpointId}`;
        return row!.completed >= STATUS_JOBS;
      },
      DONE_MS_MAX,
    );
    await machine.stop();
    const rows = await stack.sql<
      { id: string }[]
    >`SELECT id FROM job WHERE endpoint_id = ${endpointId} ORDER BY md5(id)`;
    const load = {
      url: stack.url,
      method: 'GET',
      paths: rows.map(({ id }) => `/v2/${endpointId}/status/${id}`),
      headers: { authorization: `Bearer ${stack.key}` },
      body: '',
      expect: '"COMPLETED"',
      connections: 64,
    };
    const { facade, core, postgres } = stack.processes;
    const [rate, ...times] = loadFigures(
      'GET /status ×64',
      '',
      await measureLoad(bench, load, { facade, core, postgres, load: bench.load.pid }),
      true,
    );
    return [{ ...rate!, target: STATUS_RATE_MIN }, ...times];
  } finally {
    await stack.stop();
  }
}

/** One round of streams. */
interface StreamRound extends StreamsRead {
  delayMs: number;
  cpu: Record<string, number>;
}

/** Measures streams. Each reader must get all values of its job, in order. */
async function measureStreams(bench: Bench): Promise<Figure[]> {
  const { readers, rounds, seconds } = bench.options;
  const stack = await startStack(bench);
  const child = await Child.start('tools/bench/parts/stream-readers.ts');
  try {
    const workers = Math.ceil(readers / STREAMS_PER_WORKER);
    const command = [
      'env',
      `BENCH_VALUES=${seconds * CHUNKS_PER_SECOND}`,
      ...NODE_WITH_HANDLERS,
      benchFile('stream-handler.js'),
    ];
    const endpointId = await stack.createEndpoint(workers, command);
    const machine = await startMachine(stack, 'agent', endpointId, { workers });
    try {
      const processes = { ...stack.processes, 'agent and workers': machine.pid, readers: child.pid };
      const measured: StreamRound[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        bench.say(
          `${readers} readers of streams of ${CHUNKS_PER_SECOND} values a second, ${seconds} s, round ${round}`,
        );
        measured.push(await readStreams(bench, { stack, endpointId, child, processes }));
      }
      return streamFigures(readers, measured);
    } finally {
      await machine.stop();
    }
  } finally {
    await child.stop();
    await stack.stop();
  }
}

interface Streams {
  stack: Stack;
  endpointId: string;
  /** Child that reads the streams. */
  child: Child;
  processes: Record<string, number>;
}

async function readStreams(bench: Bench, { stack, endpointId, child, processes }: Streams): Promise<StreamRound> {
  const { readers, seconds } = bench.options;
  const since = await databaseNow(stack);
  await fillQueue(stack, endpointId, readers);
  const rows = await stack.sql<{ id: string }[]>`
    SELECT id FROM job WHERE endpoint_id = ${endpointId} AND submitted_at >= ${since}::text::timestamptz`;
  const urls = rows.map(({ id }) => `${stack.url}/v2/${endpointId}/stream/${id}`);
  const before = cpuOf(processes);
  const lease = watchLease(stack);
  const read = await child.ask<StreamsRead>('read', { urls, key: stack.key, values: seconds * CHUNKS_PER_SECOND });
  return { ...read, cpu: cpuPer(before, processes, read.values), delayMs: Math.max(await lease.worst(), 0) };
}

function streamFigures(readers: number, rounds: readonly StreamRound[]): Figure[] {
  const name = `${readers.toLocaleString('en')} streams`;
  const rates = ofRounds(rounds.map(({ values, seconds }) => values / seconds));
  const target = 0.9 * readers * CHUNKS_PER_SECOND;
  return [
    { name: `${name}, values read`, path: 'agent', ...rates, unit: '/s', target, cpu: rounds.at(-1)!.cpu },
    {
      name: `${name}, from yield to reader, p50`,
      path: 'agent',
      ...ofRounds(rounds.map(({ p50Ms }) => p50Ms)),
      unit: 'ms',
    },
    {
      name: `${name}, from yield to reader, p99`,
      path: 'agent',
      ...ofRounds(rounds.map(({ p99Ms }) => p99Ms)),
      unit: 'ms',
    },
    {
      name: `${name}, delay of a heartbeat at most`,
      path: 'agent',
      ...worstOf(rounds.map(({ delayMs }) => delayMs)),
      unit: 'ms',
    },
  ];
}
