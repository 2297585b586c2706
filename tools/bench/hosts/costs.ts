/**
 * Part `costs`: what a job costs however many wait behind it, and however many workers there are. It shall stay the
 * same, or become less.
 */
import type { Bench } from '../bench.ts';
import { cpuOf, cpuPer } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { fillQueue } from '../load/fill-queue.ts';
import type { MachineKind, MachineOptions } from '../machine.ts';
import { SHAPES, startMachine, workerCommand } from '../machine.ts';
import { completedAt } from '../parts/long-queue.ts';
import { startStack } from '../stack.ts';

/** Jobs before the measured ones, in which programs are compiled, and the measured ones. */
const WARM_UP = 10_000;
const JOBS = 20_000;
/** Shares of `--queued-jobs` that wait behind them. */
const BACKLOGS = [0.01, 0.1, 1];
/**
 * A worker of the agent is a process of Node with 100 jobs; a thousand of them need more memory than the machines have
 * that this is run on.
 */
const WORKERS: Readonly<Record<MachineKind, readonly number[]>> = { session: [1, 10, 100, 1_000], agent: [1, 10, 100] };
const CAPACITY = 10;
/** A fifth more is within what can be measured on a machine shared with others. */
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
 * Each step, and the processor time for a job in times of the first step: of core and PostgreSQL, and of these with the
 * machine and its workers.
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
    // Of a scripted machine it says nothing.
    ...(place === 0 || path !== 'agent' ? [] : [ratio(', with agent and workers', all, place)]),
  ]);
}

/** A drain of the measured jobs at the head of a queue of so many more. */
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

/** Jobs that are submitted while so many workers take them. */
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
