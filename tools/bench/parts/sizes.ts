/**
 * Part `sizes`: jobs that return their input as output, from 1 KB to 10 MB. Measures throughput, memory and the effect
 * on heartbeats.
 */
import { createHash } from 'node:crypto';
import { HEARTBEAT_PERIOD_MS } from '@slipway/core/domain/machines/lease';
import type { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { ofRounds, worstOf } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import { memoryMib } from '../load/process-usage.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer } from '../stack/bench.ts';
import type { Machine } from '../stack/machine.ts';
import { benchFile, NODE_WITH_HANDLERS, startMachine } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { watchLease } from '../stack/watch-lease.ts';

const SIZES = [
  { name: '1 KB', bytes: 1e3 },
  { name: '100 KB', bytes: 1e5 },
  { name: '1 MB', bytes: 1e6 },
  { name: '10 MB', bytes: 1e7 },
] as const;
type Size = (typeof SIZES)[number];
const CONNECTIONS = 8;
const WORKERS = 2;
const QUIET_MS = 3 * HEARTBEAT_PERIOD_MS;
const DELAY_MS_MAX = 100;

/** One round of one size. */
interface Round {
  rate: number;
  p50Ms: number;
  delayMs: number;
  /** Longest tick of each program's event loop, in milliseconds. */
  turnsMs: Record<string, number>;
  cpu: Record<string, number>;
}

/** The system that is measured. */
interface Place {
  stack: Stack;
  machine: Machine;
  endpointId: string;
  /** How late heartbeats are without load, in milliseconds. */
  quietMs: number;
}

export async function measureSizes(bench: Bench): Promise<Figure[]> {
  const stack = await startStack(bench, {}, { watchLoops: true });
  try {
    const endpointId = await stack.createEndpoint(WORKERS, [...NODE_WITH_HANDLERS, benchFile('echo-handler.js')]);
    const machine = await startMachine(stack, 'agent', endpointId, { workers: WORKERS });
    try {
      const quiet = watchLease(stack);
      await new Promise((resolve) => {
        setTimeout(resolve, QUIET_MS);
      });
      const place: Place = { stack, machine, endpointId, quietMs: await quiet.worst() };
      const measured = new Map<Size, Round[]>(SIZES.map((size) => [size, []]));
      for (let round = 1; round <= bench.options.rounds; round += 1) {
        for (const size of SIZES) {
          bench.say(`jobs of ${size.name} both ways, ${CONNECTIONS} connections, round ${round}`);
          measured.get(size)!.push(await measureSize(bench, place, size.bytes));
        }
      }
      const pids = { core: stack.processes.core, facade: stack.processes.facade, agent: machine.pid };
      const memory = Object.entries(pids).map(
        ([name, pid]): Figure => ({
          name: `most memory of ${name}`,
          path: '',
          value: memoryMib(pid).peak,
          unit: 'MiB',
        }),
      );
      return [
        ...[...measured].flatMap(([{ name, bytes }, rounds]) => figuresOf(`${name} both ways`, bytes, rounds)),
        ...memory,
      ];
    } finally {
      await machine.stop();
    }
  } finally {
    await stack.stop();
  }
}

async function measureSize(
  bench: Bench,
  { stack, machine, endpointId, quietMs }: Place,
  bytes: number,
): Promise<Round> {
  const programs = { ...stack.children, agent: machine.child };
  const processes = { ...stack.processes, 'agent and workers': machine.pid };
  await longestTurns(programs);
  const lease = watchLease(stack);
  const before = cpuOf(processes);
  const { rate, p50Ms, answers } = await bench.load.ask<LoadResult>('run', loadOf(bench, stack, endpointId, bytes));
  const cpu = cpuPer(before, processes, answers);
  return {
    rate,
    p50Ms,
    delayMs: Math.max((await lease.worst()) - quietMs, 0),
    turnsMs: await longestTurns(programs),
    cpu,
  };
}

function figuresOf(name: string, bytes: number, rounds: readonly Round[]): Figure[] {
  const programs = Object.keys(rounds[0]!.turnsMs);
  return [
    {
      name,
      path: 'agent',
      ...ofRounds(rounds.map(({ rate }) => (2 * bytes * rate) / 1e6)),
      unit: 'MB/s',
      cpu: rounds.at(-1)!.cpu,
    },
    { name: `${name}, p50`, path: 'agent', ...ofRounds(rounds.map(({ p50Ms }) => p50Ms)), unit: 'ms' },
    {
      name: `${name}, delay of a heartbeat at most`,
      path: 'agent',
      ...worstOf(rounds.map(({ delayMs }) => delayMs)),
      unit: 'ms',
      target: DELAY_MS_MAX,
    },
    ...programs.map(
      (program): Figure => ({
        name: `${name}, longest turn of ${program}`,
        path: 'agent',
        ...worstOf(rounds.map(({ turnsMs }) => turnsMs[program]!)),
        unit: 'ms',
      }),
    ),
  ];
}

/** Returns the longest time that each program's event loop was busy since the last call. */
async function longestTurns(programs: Record<string, Pick<Child, 'ask'>>): Promise<Record<string, number>> {
  return Object.fromEntries(
    await Promise.all(
      Object.entries(programs).map(async ([name, child]) => [name, await child.ask<number>('loopMs')] as const),
    ),
  );
}

/**
 * Returns a text in which no two pieces are alike. So nothing can go missing or arrive twice unnoticed, and nothing is
 * compressed when stored.
 */
function textOf(bytes: number): string {
  const pieces = Array.from({ length: Math.ceil(bytes / 64) }, (_, number) =>
    createHash('sha256').update(String(number)).digest('hex'),
  );
  return pieces.join('').slice(0, bytes);
}

/** Returns a load in which each answer must have the whole input as its output, byte for byte. */
function loadOf(bench: Bench, stack: Stack, endpointId: string, bytes: number): Load {
  const input = JSON.stringify({ blob: textOf(bytes - 50) });
  return {
    url: `${stack.url}/v2/${endpointId}/runsync`,
    headers: { authorization: `Bearer ${stack.key}` },
    body: `{"input":${input}}`,
    expect: `"output":${input}`,
    connections: CONNECTIONS,
    seconds: bench.options.seconds,
  };
}
