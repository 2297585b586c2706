/**
 * Part `replicas`: the cost of a /runsync with one and with three replicas of core, each with a machine. Both stacks
 * are loaded in turn.
 */

import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer, INPUT } from '../stack/bench.ts';
import type { Machine } from '../stack/machine.ts';
import { startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';

const CORES = 3;
const CONNECTIONS = 64;
/** Number of machines in both stacks, so that only the number of replicas differs. */
const MACHINES = 3;
const COST_MOST = 1.3;

interface Side {
  stack: Stack;
  machines: Machine[];
  processes: Record<string, number>;
  load: Omit<Load, 'seconds'>;
}

interface Round {
  rate: number;
  cpu: Record<string, number>;
  total: number;
}

export async function measureReplicas(bench: Bench): Promise<Figure[]> {
  const sides: Side[] = [];
  try {
    sides.push(await startSide(bench, 1), await startSide(bench, CORES));
    const rounds: Round[][] = [[], []];
    // The first round of each stack is a warm-up.
    for (let round = 0; round <= bench.options.rounds; round += 1) {
      for (const [place, side] of sides.entries()) {
        const measured = await loadRound(bench, side);
        if (round > 0) rounds[place]!.push(measured);
      }
    }
    const [one, three] = rounds as [Round[], Round[]];
    return [
      { ...figureOf('one replica', one), cpu: one.at(-1)!.cpu },
      { ...figureOf('three replicas', three), cpu: three.at(-1)!.cpu },
      {
        name: 'processor time of core and PostgreSQL, three replicas over one',
        path: 'agent',
        unit: '×',
        target: COST_MOST,
        value: median(three.map(({ total }, round) => total / one[round]!.total)),
      },
    ];
  } finally {
    for (const { machines, stack } of sides) {
      for (const machine of machines) await machine.stop();
      await stack.stop();
    }
  }
}

function figureOf(name: string, rounds: readonly Round[]): Figure {
  return {
    name: `POST /runsync ×${CONNECTIONS}, ${name}`,
    path: 'agent',
    value: median(rounds.map(({ rate }) => rate)),
    unit: '/s',
  };
}

async function startSide(bench: Bench, cores: number): Promise<Side> {
  bench.say(`starting ${cores} of core with ${MACHINES} machines`);
  const stack = await startStack(bench, {}, { cores });
  const machines: Machine[] = [];
  try {
    const endpointId = await stack.createEndpoint(MACHINES, workerCommand());
    const addresses = [stack.coreAddress, ...stack.replicas.map((replica) => replica.ready.address!)];
    for (let place = 0; place < MACHINES; place += 1) {
      machines.push(
        await startMachine(stack, 'agent', endpointId, {
          workers: 1,
          ready: place + 1,
          core: addresses[place % addresses.length]!,
        }),
      );
    }
    const { core, facade, postgres } = stack.processes;
    const processes: Record<string, number> = { core, facade, postgres };
    for (const [place, replica] of stack.replicas.entries()) processes[`core${place + 2}`] = replica.pid;
    for (const [place, machine] of machines.entries()) processes[`machine${place + 1}`] = machine.pid;
    const load = {
      url: `${stack.url}/v2/${endpointId}/runsync`,
      headers: { authorization: `Bearer ${stack.key}` },
      body: `{"input":${INPUT}}`,
      expect: '"COMPLETED"',
      connections: CONNECTIONS,
    };
    return { stack, machines, processes, load };
  } catch (error) {
    for (const machine of machines) await machine.stop();
    await stack.stop();
    throw error;
  }
}

async function loadRound(bench: Bench, { processes, load }: Side): Promise<Round> {
  const before = cpuOf(processes);
  const { rate, answers } = await bench.load.ask<LoadResult>('run', {
    ...load,
    seconds: bench.options.seconds,
  } satisfies Load);
  const each = cpuPer(before, processes, answers);
  const sum = (prefix: string): number =>
    Object.entries(each).reduce((total, [name, us]) => (name.startsWith(prefix) ? total + us : total), 0);
  const cpu = { facade: each.facade!, core: sum('core'), postgres: each.postgres!, machines: sum('machine') };
  return { rate, cpu, total: cpu.core + cpu.postgres };
}
