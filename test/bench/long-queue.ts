/** Part `long-queue`: a drain at the head of a long queue while somebody keeps a transaction open, beside the same drain without both. */
import postgres from 'postgres';
import { waitFor } from '../helpers/wait-for.ts';
import type { Bench } from './bench.ts';
import { cpuOf, cpuPer } from './bench.ts';
import { holdSnapshot, startBystander } from './bystander.ts';
import type { Figure } from './figure.ts';
import { median } from './figure.ts';
import { fillQueue } from './fill-queue.ts';
import { SHAPES, startMachine, workerCommand } from './machine.ts';
import type { Stack } from './stack.ts';
import { startStack } from './stack.ts';

const DRAIN_MS_MAX = 1_800_000;
/** Before it is measured so much is drained: programs are compiled, and core learns how short jobs are. */
const WARM_UP = 0.25;
const RATE_LEAST_PERCENT = 95;
const BYSTANDER_MOST = 1.1;

/** A drain and what it did to somebody else. */
export interface Drained {
  rate: number;
  cpu: Record<string, number>;
  /** Somebody else's update of a row in the same database: median, in milliseconds. */
  bystanderMs: number;
  /** How long the transaction was open, in seconds; 0: there was none. */
  openSeconds: number;
}

export async function measureLongQueue(bench: Bench): Promise<Figure[]> {
  const { drainJobs, queuedJobs, rounds } = bench.options;
  const [short, long]: [Drained[], Drained[]] = [[], []];
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`drain of ${drainJobs} jobs alone, round ${round}`);
    short.push(await drained(bench, { jobs: drainJobs, behind: 0, snapshot: false }));
    bench.say(`the same before ${queuedJobs} more, with an open transaction, round ${round}`);
    long.push(await drained(bench, { jobs: drainJobs, behind: queuedJobs, snapshot: true }));
  }
  const of = (all: readonly Drained[], field: 'rate' | 'bystanderMs' | 'openSeconds'): number => median(all.map((one) => one[field]));
  const name = `drain of ${drainJobs.toLocaleString('en')} jobs`;
  const beside = `${name}, ${queuedJobs.toLocaleString('en')} more queued, a transaction open`;
  return [
    { name, path: 'agent', value: of(short, 'rate'), unit: '/s', cpu: short[0]!.cpu },
    { name: beside, path: 'agent', value: of(long, 'rate'), unit: '/s', cpu: long[0]!.cpu },
    { name: 'of the rate alone', path: 'agent', value: 100 * of(long, 'rate') / of(short, 'rate'), unit: '%', target: RATE_LEAST_PERCENT },
    { name: 'for so long', path: '', value: of(long, 'openSeconds'), unit: 's' },
    { name: 'a bystander\'s update of a row during it', path: '', value: of(long, 'bystanderMs'), unit: 'ms' },
    { name: 'of its time beside the drain alone', path: '', value: of(long, 'bystanderMs') / of(short, 'bystanderMs'), unit: '×', target: BYSTANDER_MOST },
  ];
}

/** One drain through the agent. Throws when a drained job has not exactly one attempt and its output. */
export async function drained(bench: Bench, { jobs, behind, snapshot }: { jobs: number; behind: number; snapshot: boolean }): Promise<Drained> {
  const stack = await startStack(bench);
  const others = postgres(stack.databaseUrl, { max: 2 });
  try {
    const endpointId = await stack.createEndpoint(SHAPES.agent.workers, workerCommand());
    // Open all along: of a million jobs the filling alone takes minutes.
    const reader = snapshot ? await holdSnapshot(others) : undefined;
    const openedAt = performance.now();
    await fillQueue(stack, endpointId, jobs + behind);
    const bystander = await startBystander(others);
    const machine = await startMachine(stack, 'agent', endpointId);
    try {
      const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
      const from = await completedAt(stack, endpointId, jobs * WARM_UP);
      const before = cpuOf(processes);
      bystander.forget();
      const to = await completedAt(stack, endpointId, jobs);
      const done = to.completed - from.completed;
      return {
        rate: done / (to.seconds - from.seconds), cpu: cpuPer(before, processes, done), bystanderMs: bystander.median(),
        openSeconds: snapshot ? (performance.now() - openedAt) / 1_000 : 0,
      };
    } finally {
      await machine.stop();
      await bystander.stop();
      await reader?.();
      await checkOutcomes(stack, endpointId);
    }
  } finally {
    await others.end();
    await stack.stop();
  }
}

/** Resolves when so many jobs of an endpoint are completed, with the time of the database in seconds. */
export async function completedAt(stack: Stack, endpointId: string, jobs: number): Promise<{ completed: number; seconds: number }> {
  return waitFor(`${jobs} completed jobs`, async () => {
    const [row] = await stack.sql<{ completed: number; seconds: number }[]>`
      SELECT coalesce(sum(completed), 0)::int AS completed, extract(epoch FROM clock_timestamp())::float8 AS seconds
      FROM endpoint_tally WHERE endpoint_id = ${endpointId}`;
    return row!.completed >= jobs && row!;
  }, DRAIN_MS_MAX);
}

async function checkOutcomes(stack: Stack, endpointId: string): Promise<void> {
  const [row] = await stack.sql<{ completed: number; sound: number }[]>`
    SELECT count(*)::int AS completed, count(*) FILTER (WHERE j.retries = 0 AND o.output IS NOT NULL)::int AS sound
    FROM job j LEFT JOIN job_output o ON o.endpoint_id = j.endpoint_id AND o.job_id = j.id
    WHERE j.endpoint_id = ${endpointId} AND j.state = 'COMPLETED'`;
  if (row!.sound !== row!.completed) throw new Error(`${row!.sound} of ${row!.completed} completed jobs have an output and no retry`);
}
