/** Parts `drain` and `memory`: a long queue, drained and held in memory. */
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import type { Figure } from '../figure.ts';
import { ofRounds } from '../figure.ts';
import { memoryMib } from '../load/process-usage.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer } from '../stack/bench.ts';
import { fillQueue } from '../stack/fill-queue.ts';
import type { MachineKind } from '../stack/machine.ts';
import { OUTPUTS, SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { checkOutcomes } from './outcomes.ts';

const DRAIN_JOBS = 50_000;
const DRAIN_RATE_MIN = 5_000;
const DRAIN_MS_MAX = 300_000;
/** Share of a drain in which programs start and are compiled. Its processor time is not counted. */
const STARTING_SHARE = 1 / 3;
const MEMORY_JOBS = 200_000;
const MEMORY_MIB_MAX = 300;

/** Queues jobs, lets a machine join, and measures from the first claim to the last outcome, by the database's clock. */
export async function measureDrain(bench: Bench, kind: MachineKind): Promise<Figure[]> {
  const rates: number[] = [];
  let cpu: Record<string, number> = {};
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    bench.say(`drain of ${DRAIN_JOBS} queued jobs, ${kind}, round ${round}`);
    const stack = await startStack(bench);
    try {
      ({ rate: rates[round - 1], cpu } = await drainOnce(stack, kind, DRAIN_JOBS));
    } finally {
      await stack.stop();
    }
  }
  const name = `drain of ${DRAIN_JOBS.toLocaleString('en')} queued jobs`;
  const target = kind === 'session' ? { target: DRAIN_RATE_MIN } : {};
  return [{ name, path: kind, ...ofRounds(rates), unit: '/s', ...target, ofInserts: true, cpu }];
}

/** Runs one drain of `jobs` jobs. Throws if not every job is completed with its output. */
export async function drainOnce(
  stack: Stack,
  kind: MachineKind,
  jobs: number,
  command = workerCommand(stack.root),
): Promise<{ rate: number; cpu: Record<string, number> }> {
  const endpointId = await stack.createEndpoint(SHAPES[kind].workers, command);
  await fillQueue(stack, endpointId, jobs);
  const machine = await startMachine(stack, kind, endpointId);
  const processes: Record<string, number> = {
    core: stack.processes.core,
    postgres: stack.processes.postgres,
    machine: machine.pid,
  };
  try {
    let from: { done: number; cpu: Record<string, number> } | undefined;
    await waitFor(
      `${jobs} completed jobs`,
      async () => {
        const [row] = await stack.sql<
          { completed: string }[]
        >`SELECT sum(completed) AS completed FROM endpoint_tally WHERE endpoint_id = ${endpointId}`;
        const done = Number(row?.completed ?? 0);
        if (done >= jobs * STARTING_SHARE) from ??= { done, cpu: cpuOf(processes) };
        return done >= jobs;
      },
      DRAIN_MS_MAX,
    );
    const cpu = cpuPer(from!.cpu, processes, jobs - from!.done);
    await checkOutcomes(stack, endpointId, { jobs, output: OUTPUTS[kind] });
    return { rate: jobs / (await drainSeconds(stack, endpointId)), cpu };
  } finally {
    await machine.stop();
  }
}

async function drainSeconds(stack: Stack, endpointId: string): Promise<number> {
  const [row] = await stack.sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds FROM job
      WHERE endpoint_id = ${endpointId}`;
  return row!.seconds;
}

/** Measures core's memory while a long queue waits. */
export async function measureMemory(bench: Bench): Promise<Figure[]> {
  bench.say(`memory of core with ${MEMORY_JOBS} queued jobs`);
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(0, workerCommand());
    await fillQueue(stack, endpointId, MEMORY_JOBS);
    const { now, peak } = memoryMib(stack.processes.core);
    const name = `memory of core with ${MEMORY_JOBS.toLocaleString('en')} queued jobs`;
    const most: Figure = { name: 'most memory of core while they were queued', path: '', value: peak, unit: 'MiB' };
    return [{ name, path: '', value: now, unit: 'MiB', target: MEMORY_MIB_MAX }, most];
  } finally {
    await stack.stop();
  }
}
