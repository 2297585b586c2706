/**
 * Part `traces`: the cost of recording 10 % of the traces. Two stacks, of which one records, are loaded in turn. The
 * cores of all stacks share one process, and the facades another, because two equal processes differ by more than the
 * measured cost for as long as they run. A third stack, which does not record either, shows how accurate the comparison
 * is.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { NODE_FLAGS } from '@slipway/kit/host/node-settings';
import type { Ready } from '../child.ts';
import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import type { Load, LoadResult } from '../load/load-generator.ts';
import { threadsUs } from '../load/process-usage.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT } from '../stack/bench.ts';
import { SHAPES, startMachine, workerCommand } from '../stack/machine.ts';
import type { StartProgram } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import type { SharedStart } from './shared-process.ts';

const SHARED = 'tools/bench/parts/shared-process.ts';
const PERCENT = 10;
const CONNECTIONS = 64;
/** Highest accepted processor time of core and facade, relative to that without traces. */
const COST_MAX = 1.03;
/**
 * Pairs of each kind in a round, and the length of each measurement as a share of a round's length. Other load on the
 * machine changes less between short measurements.
 */
const PAIRS = 12;
const TURN_PART = 0.5;
/**
 * Length of the warm-up, in seconds. Code that is compiled late costs for a long time. With traces of a tenth of the
 * jobs, it must suffice to compile the code of spans.
 */
const WARM_UP_S = 8;

type Name = 'plain' | 'again' | 'traced';
type Side = Awaited<ReturnType<typeof startSide>>;
/** Processor time of core and facade for a job in microseconds: of the plain side, and of the other one. */
type Pair = readonly [number, number];

/** Processes that all sides share. */
interface Shared {
  start: StartProgram;
  /** Returns the processor time used so far, in microseconds. */
  used(): number;
  stop(): Promise<void>;
}

/** Measures the part. The figures are medians over pairs of the second side's time relative to the first side's. */
export async function measureTraces(bench: Bench): Promise<Figure[]> {
  const collector = createServer((request, reply) => {
    request.resume().on('end', () => reply.writeHead(200).end());
  });
  await new Promise<void>((resolve) => {
    collector.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const pairs: Record<'traced' | 'again', Pair[]> = { traced: [], again: [] };
  try {
    bench.say(`POST /runsync, ${CONNECTIONS} connections, with and without traces in turn`);
    for (let round = 0; round < bench.options.rounds; round += 1) await measureRound(bench, url, round, pairs);
  } finally {
    collector.closeAllConnections();
    collector.close();
  }
  const ratios = (of: Pair[]): number[] => of.map(([first, second]) => second / first);
  const text = (of: Pair[]): string =>
    ratios(of)
      .toSorted((a, b) => a - b)
      .map((ratio) => ratio.toFixed(3))
      .join(' ');
  bench.say(`with traces: ${text(pairs.traced)}; both without: ${text(pairs.again)}`);
  const cpu = {
    plain: median(pairs.traced.map(([plain]) => plain)),
    traced: median(pairs.traced.map(([, traced]) => traced)),
  };
  return [
    {
      name: `processor time with traces of ${PERCENT} %`,
      path: 'session',
      value: median(ratios(pairs.traced)),
      unit: '×',
      target: COST_MAX,
      cpu,
    },
    { name: 'the same of two sides without traces', path: 'session', value: median(ratios(pairs.again)), unit: '×' },
  ];
}

/** Measures one round. Each round has new processes and starts their sides in another order. */
async function measureRound(
  bench: Bench,
  url: string,
  round: number,
  pairs: Record<'traced' | 'again', Pair[]>,
): Promise<void> {
  const shared = await startShared();
  const sides = {} as Record<Name, Side>;
  try {
    const names: Name[] = ['plain', 'again', 'traced'];
    for (const place of names.keys()) {
      const name = names[(place + round) % names.length]!;
      const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: url, SLIPWAY_TRACE_PERCENT: String(PERCENT) };
      sides[name] = await startSide(bench, shared, name === 'traced' ? traced : {});
    }
    for (const side of Object.values(sides)) await side.run(WARM_UP_S);
    const seconds = bench.options.seconds * TURN_PART;
    for (let turn = 0; turn < PAIRS; turn += 1) {
      for (const other of ['traced', 'again'] as const)
        pairs[other].push(await measurePair(sides.plain, sides[other], seconds, turn % 2 === 0));
    }
  } finally {
    for (const side of Object.values(sides).toReversed()) await side.stop();
    await shared.stop();
  }
}

/** Measures both sides. Which one is first alternates. */
async function measurePair(plain: Side, other: Side, seconds: number, inOrder: boolean): Promise<Pair> {
  if (inOrder) return [await plain.run(seconds), await other.run(seconds)];
  const took = await other.run(seconds);
  return [await plain.run(seconds), took];
}

async function startShared(): Promise<Shared> {
  const [core, facade] = [await Child.start(SHARED, {}, NODE_FLAGS), await Child.start(SHARED, {}, NODE_FLAGS)];
  const children = { core, facade };
  let count = 0;
  return {
    start: async (program, env) => {
      const child = children[program];
      const name = `${program} ${(count += 1)}`;
      const ready = await child.ask<Ready>('start', { name, program, env } satisfies SharedStart);
      return { pid: child.pid, ready, ask: child.ask.bind(child), stop: () => child.ask<void>('stop', { name }) };
    },
    used: () => threadsUs(children.core.pid) + threadsUs(children.facade.pid),
    stop: async () => {
      for (const child of Object.values(children)) await child.stop();
    },
  };
}

/** Starts a stack that takes jobs, with a way to load it. */
async function startSide(bench: Bench, { start, used }: Shared, env: Record<string, string>) {
  const stack = await startStack(bench, env, { start });
  const endpointId = await stack.createEndpoint(SHAPES.session.workers, workerCommand());
  const machine = await startMachine(stack, 'session', endpointId);
  const load = {
    url: `${stack.url}/v2/${endpointId}/runsync`,
    headers: { authorization: `Bearer ${stack.key}` },
    body: `{"input":${INPUT}}`,
    connections: CONNECTIONS,
    expect: '"COMPLETED"',
  };
  return {
    /** Returns the processor time of core and facade for each job, in microseconds. */
    async run(seconds: number): Promise<number> {
      const before = used();
      const { answers } = await bench.load.ask<LoadResult>('run', { ...load, seconds } satisfies Load);
      return (used() - before) / answers;
    },
    async stop(): Promise<void> {
      await machine.stop();
      await stack.stop();
    },
  };
}
