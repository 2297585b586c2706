/**
 * Part `traces`: what recording 10 % of the traces costs. Two stacks of three are loaded at the same time, so that both meet the same machine: with and
 * without traces, and, as a measure of what such a pair can tell, both without. Then the traced one alone, in turns with requests of which a tenth is
 * recorded and with such as say that they are not to be: two turns of one process differ by less than two processes.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench } from './bench.ts';
import { INPUT } from './bench.ts';
import type { Figure } from './figure.ts';
import { median } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import { SHAPES, startMachine, workerCommand } from './machine.ts';
import { threadsUs } from './process-usage.ts';
import { startStack } from './stack.ts';

const PERCENT = 10;
const CONNECTIONS = 64;
/** Times the processor time of core and facade without. */
const COST_MAX = 1.03;
/** Each side in as many pairs as the others. */
const KINDS = [['plain', 'traced'], ['again', 'traced'], ['plain', 'again']] as const;
type Name = typeof KINDS[number][number];
/** Of each kind with the stacks of a round. */
const PAIRS = 2;
/** Turns with and without recorded requests, each of this part of a pair's length: what else the machine does changes less between short ones. */
const TURNS = 12;
const TURN_PART = 0.5;
/** Before a pair, so that none comes to it from a longer rest than the other. */
const SHORT_S = 0.3;
/** Of the same length, so that they cost the same: with the first a request is not recorded; the second is none, and the facade's own share decides. */
const NOT_RECORDED = `00-${'4b'.repeat(16)}-${'a7'.repeat(8)}-00`;
const UNDECIDED = `00-${'4b'.repeat(16)}-${'a7'.repeat(8)}-zz`;
/** What is compiled late costs for long: a tenth of the jobs must be enough to have the code of spans compiled. */
const WARM_UP_S = 8;

type Side = Awaited<ReturnType<typeof startSide>>;

/** A stack that takes jobs, and a way to load it. */
async function startSide(bench: Bench, env: Record<string, string>) {
  const stack = await startStack(bench, env);
  const endpointId = await stack.createEndpoint(SHAPES.session.workers, workerCommand());
  const machine = await startMachine(stack, 'session', endpointId);
  const load = {
    url: `${stack.url}/v2/${endpointId}/runsync`, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}`,
    connections: CONNECTIONS, expect: '"COMPLETED"',
  };
  const used = (): number => threadsUs(stack.processes.core) + threadsUs(stack.processes.facade);
  return {
    /** Processor time of core and facade for each job, in microseconds. */
    async run(seconds: number, traceparent?: string): Promise<number> {
      const before = used();
      const headers = traceparent === undefined ? load.headers : { ...load.headers, traceparent };
      const { answers } = await bench.load.ask<LoadResult>('run', { ...load, headers, seconds } satisfies Load);
      return (used() - before) / answers;
    },
    async stop(): Promise<void> {
      await machine.stop();
      await stack.stop();
    },
  };
}

/** One of the sides of a pair, and the other, in microseconds a job. */
type Pair = readonly [number, number];
type Pairs = Record<'traced' | 'again' | 'turns', Pair[]>;

/** The figures are medians over pairs of what the second side took, in times of the first. */
export async function measureTraces(bench: Bench): Promise<Figure[]> {
  const collector = createServer((request, reply) => { request.resume().on('end', () => reply.writeHead(200).end()); });
  await new Promise<void>((resolve) => { collector.listen(0, '127.0.0.1', resolve); });
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const pairs: Pairs = { traced: [], again: [], turns: [] };
  try {
    bench.say(`POST /runsync, ${CONNECTIONS} connections each, with and without traces, at the same time`);
    for (let round = 0; round < bench.options.rounds; round += 1) await measureRound(bench, url, round, pairs);
  } finally {
    collector.closeAllConnections();
    collector.close();
  }
  const ratios = (of: Pair[]): number[] => of.map(([first, second]) => second / first);
  const text = (of: Pair[]): string => ratios(of).map((ratio) => ratio.toFixed(3)).join(' ');
  bench.say(`pairs: ${text(pairs.traced)}; both without: ${text(pairs.again)}; in one process: ${text(pairs.turns)}`);
  const cpu = { plain: median(pairs.traced.map(([plain]) => plain)), traced: median(pairs.traced.map(([, traced]) => traced)) };
  return [
    { name: `processor time with traces of ${PERCENT} %`, path: 'session', value: median(ratios(pairs.traced)), unit: '×', target: COST_MAX, cpu },
    { name: 'the same of two sides without traces', path: 'session', value: median(ratios(pairs.again)), unit: '×' },
    { name: 'the same of one side, in turns with and without', path: 'session', value: median(ratios(pairs.turns)), unit: '×' },
  ];
}

/** Stacks of each round are new, started in another order: two equal processes of Node may differ by hundredths for as long as they run. */
async function measureRound(bench: Bench, url: string, round: number, pairs: Pairs): Promise<void> {
  const { seconds } = bench.options;
  const sides = {} as Record<Name, Side>;
  try {
    const names: Name[] = ['plain', 'again', 'traced'];
    for (const place of names.keys()) {
      const name = names[(place + round) % names.length]!;
      sides[name] = await startSide(bench, name === 'traced' ? { OTEL_EXPORTER_OTLP_ENDPOINT: url, SLIPWAY_TRACE_PERCENT: String(PERCENT) } : {});
    }
    await Promise.all(Object.values(sides).map((side) => side.run(WARM_UP_S)));
    for (let turn = 0; turn < PAIRS; turn += 1) {
      for (const [first, second] of KINDS) pairs[second].push(await measurePair(sides[first], sides[second], seconds, turn % 2 === 0));
    }
    for (let turn = 0; turn < TURNS; turn += 1) pairs.turns.push(await measureTurns(sides.traced, seconds * TURN_PART, turn % 2 === 0));
  } finally {
    for (const side of Object.values(sides).toReversed()) await side.stop();
  }
}

/** Both at the same time. Whose load begins first changes. */
async function measurePair(first: Side, second: Side, seconds: number, inOrder: boolean): Promise<Pair> {
  await Promise.all([first.run(SHORT_S), second.run(SHORT_S)]);
  if (inOrder) return await Promise.all([first.run(seconds), second.run(seconds)]);
  const [took, other] = await Promise.all([second.run(seconds), first.run(seconds)]);
  return [other, took];
}

async function measureTurns(side: Side, seconds: number, inOrder: boolean): Promise<Pair> {
  if (inOrder) return [await side.run(seconds, NOT_RECORDED), await side.run(seconds, UNDECIDED)];
  const took = await side.run(seconds, UNDECIDED);
  return [await side.run(seconds, NOT_RECORDED), took];
}
