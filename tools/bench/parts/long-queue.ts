/**
 * Part `long-queue`: a drain at the head of a long queue while another client keeps a transaction open, compared with
 * the same drain without either.
 */

import { waitFor } from '@slipway/test/helpers/time/wait-for';
import postgres from 'postgres';
import type { Figure } from '../figure.ts';
import { median, ofRounds } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer } from '../stack/bench.ts';
import { fillQueue } from '../stack/fill-queue.ts';
import { SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import type { Bystander } from './bystander.ts';
import { holdSnapshot, startBystander, TOO_SHORT } from './bystander.ts';
import { checkOutcomes } from './outcomes.ts';

export const DRAIN_MS_MAX = 1_800_000;
/**
 * Share of the jobs that is drained before the measurement. Meanwhile programs are compiled, and core learns how short
 * the jobs are.
 */
export const WARM_UP = 0.25;
const RATE_LEAST_PERCENT = 95;
const BYSTANDER_MOST = 1.1;

/** Result of a drain, and its effect on another client. */
interface Drained {
  rate: number;
  cpu: Record<string, number>;
  /** Median time of another client's update of a row in the same database, in milliseconds. */
  bystanderMs: number;
  /** How long the transaction was open, in seconds; 0 if there was none. */
  openSeconds: number;
}

export async function measureLongQueue(bench: Bench): Promise<Figure[]> {
  const { drainJobs, queuedJobs, openSeconds, rounds } = bench.options;
  const [short, long]: [Drained[], Drained[]] = [[], []];
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`drain of ${drainJobs} jobs alone, round ${round}`);
    short.push(await drained(bench, { jobs: drainJobs, behind: 0, openSeconds: undefined }));
    bench.say(`the same before ${queuedJobs} more, with an open transaction, round ${round}`);
    long.push(await drained(bench, { jobs: drainJobs, behind: queuedJobs, openSeconds }));
  }
  const all = (of: readonly Drained[], field: 'rate' | 'bystanderMs' | 'openSeconds'): number[] =>
    of.map((one) => one[field]);
  const of = (field: 'rate' | 'bystanderMs'): number => median(all(long, field)) / median(all(short, field));
  const ofPairs = (field: 'rate' | 'bystanderMs'): number[] =>
    long.map((one, round) => one[field] / short[round]![field]);
  const percent = ofPairs('rate').map((share) => 100 * share);
  const name = `drain of ${drainJobs.toLocaleString('en')} jobs`;
  const beside = `${name}, ${queuedJobs.toLocaleString('en')} more queued, a transaction open`;
  return [
    { name, path: 'agent', ...ofRounds(all(short, 'rate')), unit: '/s', cpu: short[0]!.cpu },
    { name: beside, path: 'agent', ...ofRounds(all(long, 'rate')), unit: '/s', cpu: long[0]!.cpu },
    {
      name: 'of the rate alone',
      path: 'agent',
      ...ofRounds(percent),
      value: 100 * of('rate'),
      unit: '%',
      target: RATE_LEAST_PERCENT,
    },
    { name: 'for so long', path: '', ...ofRounds(all(long, 'openSeconds')), unit: 's' },
    {
      name: "a bystander's update of a row beside the drain alone",
      path: '',
      ...ofRounds(all(short, 'bystanderMs')),
      unit: 'ms',
    },
    { name: "a bystander's update of a row during it", path: '', ...ofRounds(all(long, 'bystanderMs')), unit: 'ms' },
    {
      name: 'of its time beside the drain alone',
      path: '',
      ...ofRounds(ofPairs('bystanderMs')),
      value: of('bystanderMs'),
      unit: '×',
      target: BYSTANDER_MOST,
    },
  ];
}

/**
 * Runs one drain through the agent. Throws if a drained job has been retried or lacks its output, or if a job is
 * missing.
 */
export async function drained(bench: Bench, { jobs, behind, openSeconds }: LongQueue): Promise<Drained> {
  const stack = await startStack(bench);
  const others = postgres(stack.databaseUrl, { max: 2 });
  try {
    const endpointId = await stack.createEndpoint(SHAPES.agent.workers, workerCommand());
    // Opened before the jobs are stored, so that it sees none of them.
    const snapshot = openSeconds === undefined ? undefined : await holdSnapshot(others);
    await fillQueue(stack, endpointId, jobs + behind);
    await snapshot?.reach(openSeconds!);
    const bystander = await startBystander(others);
    const result = await measuredDrain(stack, endpointId, jobs, bystander).finally(() => bystander.stop());
    const openFor = snapshot?.openSeconds() ?? 0;
    await snapshot?.end();
    await checkOutcomes(stack, endpointId, { jobs: jobs + behind, completed: jobs });
    return { ...result, openSeconds: openFor };
  } finally {
    await others.end({ timeout: 5 });
    await stack.stop();
  }
}

async function measuredDrain(
  stack: Stack,
  endpointId: string,
  jobs: number,
  bystander: Bystander,
): Promise<Omit<Drained, 'openSeconds'>> {
  const machine = await startMachine(stack, 'agent', endpointId);
  try {
    const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
    const from = await completedAt(stack, endpointId, jobs * WARM_UP);
    const before = cpuOf(processes);
    bystander.forget();
    const to = await completedAt(stack, endpointId, jobs);
    const done = to.completed - from.completed;
    if (done === 0) throw new Error(TOO_SHORT);
    return {
      rate: done / (to.seconds - from.seconds),
      cpu: cpuPer(before, processes, done),
      bystanderMs: bystander.median(),
    };
  } finally {
    await machine.stop();
  }
}

/**
 * Resolves when this many jobs of an endpoint are completed, with the number of completed jobs and the database's time
 * in seconds.
 */
export async function completedAt(
  stack: Stack,
  endpointId: string,
  jobs: number,
): Promise<{ completed: number; seconds: number }> {
  return waitFor(
    `${jobs} completed jobs`,
    async () => {
      const [row] = await stack.sql<{ completed: number; seconds: number }[]>`
      SELECT coalesce(sum(completed), 0)::int AS completed, extract(epoch FROM clock_timestamp())::float8 AS seconds
      FROM endpoint_tally WHERE endpoint_id = ${endpointId}`;
      return row!.completed >= jobs && row!;
    },
    DRAIN_MS_MAX,
  );
}

/** Number of jobs to drain, number of jobs behind them, and age of the open transaction. */
export interface LongQueue {
  jobs: number;
  behind: number;
  /**
   * Least age of a transaction when workers come, in seconds. It is opened before the first job is stored and ends
   * after everything else. `undefined` for no transaction.
   */
  openSeconds: number | undefined;
}
