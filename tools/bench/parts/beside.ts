/**
 * `--beside`: compares this checkout with another one, or with itself under other settings. Both run at the same time
 * and are loaded in turn. Other load on the machine affects both alike, so that small differences become visible. Which
 * one is first alternates from pair to pair.
 */

import { median } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import type { Bench } from '../stack/bench.ts';
import { cpuOf, cpuPer, INPUT } from '../stack/bench.ts';
import { SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import { drainOnce } from './backlog.ts';

/** One round of one side. */
interface Round {
  rate: number;
  p50Ms?: number;
  /** Processor time of an operation in microseconds, by process. */
  cpu: Record<string, number>;
}

/** Results of one scenario. `pairs` are in the order of their measurement. */
interface Compared {
  scenario: string;
  pairs: { own: Round; other: Round }[];
}

/** A started side. */
interface Side {
  run(route: 'run' | 'runsync', connections: number, seconds: number): Promise<Round>;
  stop(): Promise<void>;
}

const SCENARIOS = [
  { route: 'runsync', connections: 1 },
  { route: 'runsync', connections: 64 },
  { route: 'runsync', connections: 256 },
  { route: 'run', connections: 64 },
] as const;
const EXPECT = { run: '"IN_QUEUE"', runsync: '"COMPLETED"' };
/** Warm-up rounds. Programs are compiled as they run; after too short a warm-up the rounds would measure that. */
const WARM_UPS = 2;

/** Measures both sides. Returns a table. */
export async function measureBeside(bench: Bench): Promise<string> {
  const { only } = bench.options;
  const routes = SCENARIOS.filter(({ route }) => only.includes(route));
  const compared = [
    ...(routes.length > 0 ? await byHttp(bench, routes) : []),
    ...(only.includes('drain') ? [await byDrain(bench)] : []),
  ];
  const head = [
    '| | this | other | rate, this / other | CPU µs, this | other | CPU, this / other |',
    '|---|---|---|---|---|---|---|',
  ];
  return [...head, ...compared.map(row)].join('\n');
}

async function byHttp(bench: Bench, routes: readonly (typeof SCENARIOS)[number][]): Promise<Compared[]> {
  const { rounds, seconds } = bench.options;
  const sides: Side[] = [];
  try {
    for (const start of [startOwn, startOther]) sides.push(await openSide(bench, await start(bench)));
    const [own, other] = sides as [Side, Side];
    const compared: Compared[] = [];
    for (const { route, connections } of routes) {
      const scenario = `POST /${route} ×${connections}`;
      bench.say(`${scenario}: ${rounds} pairs of ${seconds} s`);
      for (let warmUp = 0; warmUp < WARM_UPS; warmUp += 1)
        for (const side of sides) await side.run(route, connections, seconds);
      compared.push({
        scenario,
        pairs: await inPairs(
          bench,
          () => own.run(route, connections, seconds),
          () => other.run(route, connections, seconds),
        ),
      });
    }
    return compared;
  } finally {
    for (const side of sides) await side.stop();
  }
}

async function byDrain(bench: Bench): Promise<Compared> {
  const { rounds, drainJobs } = bench.options;
  const scenario = `drain of ${drainJobs.toLocaleString('en')}`;
  const drain = async (start: typeof startOwn): Promise<Round> => {
    const stack = await start(bench);
    try {
      return await drainOnce(stack, 'agent', drainJobs);
    } finally {
      await stack.stop();
    }
  };
  bench.say(`${scenario}: ${rounds} pairs`);
  return {
    scenario,
    pairs: await inPairs(
      bench,
      () => drain(startOwn),
      () => drain(startOther),
    ),
  };
}

function startOwn(bench: Bench): Promise<Stack> {
  return startStack(bench);
}

function startOther(bench: Bench): Promise<Stack> {
  const { root, env } = bench.options.beside!;
  return startStack(bench, env, { root });
}

/** Measures pairs, and reports each as it ends. */
async function inPairs(
  { say, options: { rounds: count } }: Bench,
  own: () => Promise<Round>,
  other: () => Promise<Round>,
): Promise<Compared['pairs']> {
  const pairs: Compared['pairs'] = [];
  for (let pair = 0; pair < count; pair += 1) {
    const first = pair % 2 === 0 ? await own() : undefined;
    const second = await other();
    const done = { own: first ?? (await own()), other: second };
    pairs.push(done);
    say(`pair ${pair + 1} of ${count}: ${pairText(done)}`);
  }
  return pairs;
}

function pairText({ own, other }: Compared['pairs'][number]): string {
  const values = (of: (round: Round) => number): string =>
    `${Math.round(of(own)).toLocaleString('en')} and ${Math.round(of(other)).toLocaleString('en')}`;
  const ratio = (of: (round: Round) => number): string => (of(own) / of(other)).toFixed(2);
  return (
    `${values(({ rate }) => rate)} a second, ${ratio(({ rate }) => rate)}; ` +
    `${values(total)} µs of CPU, ${ratio(total)}`
  );
}

async function openSide(bench: Bench, stack: Stack): Promise<Side> {
  const command = workerCommand(stack.root);
  const endpoints = {
    run: await stack.createEndpoint(0, command),
    runsync: await stack.createEndpoint(SHAPES.agent.workers, command),
  };
  const machine = await startMachine(stack, 'agent', endpoints.runsync);
  const all: Record<string, number> = { ...stack.processes, machine: machine.pid };
  return {
    run: async (route, connections, seconds) => {
      const load: Load = {
        url: `${stack.url}/v2/${endpoints[route]}/${route}`,
        headers: { authorization: `Bearer ${stack.key}` },
        body: `{"input":${INPUT}}`,
        expect: EXPECT[route],
        connections,
        seconds,
      };
      const before = cpuOf(all);
      const { rate, p50Ms, answers } = await bench.load.ask<LoadResult>('run', load);
      return { rate, p50Ms, cpu: cpuPer(before, all, answers) };
    },
    stop: async () => {
      await machine.stop();
      await stack.stop();
    },
  };
}

function row({ scenario, pairs }: Compared): string {
  const ratio = (of: (round: Round) => number): string =>
    median(pairs.map(({ own, other }) => of(own) / of(other))).toFixed(2);
  const shown = (side: 'own' | 'other'): string => {
    const rounds = pairs.map((pair) => pair[side]);
    const p50 = rounds.flatMap(({ p50Ms }) => p50Ms ?? []);
    const rate = Math.round(median(rounds.map((round) => round.rate))).toLocaleString('en');
    return `${rate}/s${p50.length > 0 ? `, p50 ${median(p50).toFixed(2)} ms` : ''}`;
  };
  const cpu = (side: 'own' | 'other'): string => {
    const names = Object.keys(pairs[0]![side].cpu);
    return [
      ...names.map((name) => `${name} ${median(pairs.map((pair) => pair[side].cpu[name]!)).toFixed(0)}`),
      `all ${median(pairs.map((pair) => total(pair[side]))).toFixed(0)}`,
    ].join(', ');
  };
  const rates = [shown('own'), shown('other'), ratio(({ rate }) => rate)];
  return `| ${[scenario, ...rates, cpu('own'), cpu('other'), ratio(total)].join(' | ')} |`;
}

function total({ cpu }: Round): number {
  return Object.values(cpu).reduce((sum, us) => sum + us, 0);
}
