/** Part `costs`: what a job costs however many wait behind it, and however many workers there are. It shall stay the same, or become less. */
import type { Bench } from './bench.ts';
import { cpuOf, cpuPer } from './bench.ts';
import type { Figure } from './figure.ts';
import { fillQueue } from './fill-queue.ts';
import { completedAt } from './long-queue.ts';
import type { MachineKind, MachineOptions } from './machine.ts';
import { startMachine, workerCommand } from './machine.ts';
import { startStack } from './stack.ts';

/** Jobs before the measured ones, in which programs are compiled, and the measured ones. */
const WARM_UP = 10_000;
const JOBS = 20_000;
/** Shares of `--queued-jobs` that wait behind them. */
const BACKLOGS = [0.01, 0.1, 1];
/** A worker of the agent is a process of Node with 100 jobs; a thousand of them need more memory than the machines have that this is run on. */
const WORKERS: Readonly<Record<MachineKind, readonly number[]>> = { session: [1, 10, 100, 1_000], agent: [1, 10, 100] };
const CAPACITY = 10;
/** A fifth more is within what can be measured on a machine shared with others. */
const MORE_MOST = 1.2;

type Cost = Pick<Figure, 'value' | 'cpu'>;

export async function measureCosts(bench: Bench): Promise<Figure[]> {
  const { queuedJobs } = bench.options;
  const backlogs = BACKLOGS.map((share) => Math.round(queuedJobs * share));
  return [
    ...await compared(backlogs, (backlog) => `drain before ${backlog.toLocaleString('en')} more`, 'session', (backlog) => drainCost(bench, backlog)),
    ...await compared(WORKERS.session, workersText, 'session', (workers) => workersCost(bench, 'session', { workers, capacity: CAPACITY })),
    ...await compared(WORKERS.agent, workersText, 'agent', (workers) => workersCost(bench, 'agent', { workers })),
  ];
}

const workersText = (workers: number): string => `from submission to outcome, ${workers.toLocaleString('en')} worker${workers === 1 ? '' : 's'}`;

/** Each step, and the processor time of core and PostgreSQL for a job in times of the first step. */
async function compared(
  steps: readonly number[], nameOf: (step: number) => string, path: MachineKind, measure: (step: number) => Promise<Cost>,
): Promise<Figure[]> {
  const costs: Cost[] = [];
  for (const step of steps) costs.push(await measure(step));
  const total = ({ cpu }: Cost): number => cpu!.core! + cpu!.postgres!;
  return steps.flatMap((step, place): Figure[] => {
    const times = total(costs[place]!) / total(costs[0]!);
    const ratio: Figure = { name: `processor time of a job, ${nameOf(step)}`, path, value: times, unit: '×', target: MORE_MOST };
    return [{ name: nameOf(step), path, unit: '/s', ...costs[place]! }, ...(place === 0 ? [] : [ratio])];
  });
}

/** A drain of the measured jobs at the head of a queue of so many more. */
async function drainCost(bench: Bench, backlog: number): Promise<Cost> {
  bench.say(`cost of a job: drain of ${JOBS} before ${backlog} more`);
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(4, workerCommand());
    await fillQueue(stack, endpointId, WARM_UP + JOBS + backlog);
    const machine = await startMachine(stack, 'session', endpointId);
    try {
      const processes = { core: stack.processes.core, postgres: stack.processes.postgres };
      const from = await completedAt(stack, endpointId, WARM_UP);
      const before = cpuOf(processes);
      const to = await completedAt(stack, endpointId, WARM_UP + JOBS);
      const done = to.completed - from.completed;
      return { value: done / (to.seconds - from.seconds), cpu: cpuPer(before, processes, done) };
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

/** Jobs that are submitted while so many workers take them. */
async function workersCost(bench: Bench, kind: MachineKind, machineOptions: MachineOptions & { workers: number }): Promise<Cost> {
  bench.say(`cost of a job: ${machineOptions.workers} workers, ${kind}`);
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(machineOptions.workers, workerCommand());
    const machine = await startMachine(stack, kind, endpointId, machineOptions);
    try {
      const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
      await fillQueue(stack, endpointId, WARM_UP);
      const from = await completedAt(stack, endpointId, WARM_UP);
      const before = cpuOf(processes);
      await fillQueue(stack, endpointId, JOBS);
      const to = await completedAt(stack, endpointId, WARM_UP + JOBS);
      return { value: JOBS / (to.seconds - from.seconds), cpu: cpuPer(before, processes, JOBS) };
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}
