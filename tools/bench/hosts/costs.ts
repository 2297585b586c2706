/**
 * Part `costs`: the cost of a job against the number of jobs behind it and the number of workers. It must stay the same
 * or fall.
 */

import type { Figure } from '../figure.ts';
import { completedAt } from '../parts/long-queue.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer } from '../stack/bench.ts';
import { fillQueue } from '../stack/fill-queue.ts';
import type { MachineKind, MachineOptions } from '../stack/machine.ts';
import { SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import { startStack } from '../stack/stack.ts';

/** Jobs before the measured ones, during which programs are compiled; and the measured jobs. */
const WARM_UP = 10_000;
const JOBS = 20_000;
/** Shares of `--queued-jobs` that wait behind the measured jobs. */
const BACKLOGS = [0.01, 0.1, 1];
/**
 * Numbers of workers. A worker of the agent is a Node process with 100 jobs. A thousand of them need more memory than
 * the machines have that run this.
 */
const WORKERS: Readonly<Record<MachineKind, readonly number[]>> = { session: [1, 10, 100, 1_000], agent: [1, 10, 100] };
const CAPACITY = 10;
/**
 * Highest accepted ratio. On a machine shared with others a difference of a fifth cannot be distinguished from none.
 */
const MORE_MOST = 1.2;

type Cost = Pick<Figure, 'value' | 'cpu'>;

export async function measureCosts(bench: Bench): Promise<Figure[]> {
  const { queuedJobs } = bench.options;
  const backlogs = BACKLOGS.map((share) => Math.round(queuedJobs * share));
  return [
    ...(await compared(backlogs, backlogText, 'session', (backlog) => drainCost(bench, 'session', backlog))),
    ...(await compared(backlogs, backlogText, 'agent', (backlog) => drainCost(bench, 'agent', backlog))),
    ...(await compared(WORKERS.session, workersText, 'session', (workers) =>
      workersCost(bench, 'session', { workers, capacity: CAPACITY }),
    )),
    ...(await compared(WORKERS.agent, workersText, 'agent', (workers) => workersCost(bench, 'agent', { workers }))),
  ];
}

const backlogText = (backlog: number): string => `drain before ${backlog.toLocaleString('en')} more`;
const workersText = (workers: number): string =>
  `from submission to outcome, ${workers.toLocaleString('en')} worker${workers === 1 ? '' : 's'}`;

/**
 * Measures each step. Also returns the processor time of a job relative to the first step: that of core and PostgreSQL,
 * and that of these with the machine and its workers.
 */
async function compared(
  steps: readonly number[],
  nameOf: (step: number) => string,
  path: MachineKind,
  measure: (step: number) => Promise<Cost>,
): Promise<Figure[]> {
  const costs: Cost[] = [];
  for (const step of steps) costs.push(await measure(step));
  const own = ({ cpu }: Cost): number => cpu!.core! + cpu!.postgres!;
  const all = (cost: Cost): number => own(cost) + cost.cpu!.machine!;
  const ratio = (what: string, of: (cost: Cost) => number, place: number): Figure => ({
    name: `processor time of a job, ${nameOf(steps[place]!)}${what}`,
    path,
    value: of(costs[place]!) / of(costs[0]!),
    unit: '×',
    target: MORE_MOST,
  });
  return steps.flatMap((step, place): Figure[] => [
    { name: nameOf(step), path, unit: '/s', ...costs[place]! },
    ...(place === 0 ? [] : [ratio('', own, place)]),
    // For a scripted machine this would say nothing.
    ...(place === 0 || path !== 'agent' ? [] : [ratio(', with agent and workers', all, place)]),
  ]);
}

/** Measures a drain of `JOBS` at the head of a queue of `backlog` more jobs. */
async function drainCost(bench: Bench, kind: MachineKind, backlog: number): Promise<Cost> {
  bench.say(`cost of a job: drain of ${JOBS} before ${backlog} more, ${kind}`);
  const stack = await startStack(bench);
  try {
    const endpointId = await stack.createEndpoint(SHAPES[kind].workers, workerCommand());
    await fillQueue(stack, endpointId, WARM_UP + JOBS + backlog);
    const machine = await startMachine(stack, kind, endpointId);
    try {
      const processes = { core: stack.processes.core, postgres: stack.processes.postgres, machine: machine.pid };
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

/** Measures jobs that are submitted while `workers` workers take them. */
async function workersCost(
  bench: Bench,
  kind: MachineKind,
  machineOptions: MachineOptions & { workers: number },
): Promise<Cost> {
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
