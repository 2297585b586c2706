/** Part `traces`: what recording 10 % of the traces costs. Two stacks run side by side and are loaded at the same time, so that both meet the same machine. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bench } from './bench.ts';
import { cpuOf, cpuPer, INPUT } from './bench.ts';
import type { Figure } from './figure.ts';
import { median } from './figure.ts';
import type { Load, LoadResult } from './load-generator.ts';
import { SHAPES, startMachine, workerCommand } from './machine.ts';
import { startStack } from './stack.ts';

const PERCENT = 10;
const CONNECTIONS = 64;
/** Times the processor time of core and facade without. */
const COST_MAX = 1.03;
/** Pairs for each round of the other parts. */
const PAIRS_PER_ROUND = 4;

/** A stack that takes jobs, and a way to load it. */
async function startSide(bench: Bench, env: Record<string, string>) {
  const stack = await startStack(bench, env);
  const endpointId = await stack.createEndpoint(SHAPES.session.workers, workerCommand());
  const machine = await startMachine(stack, 'session', endpointId);
  const load = {
    url: `${stack.url}/v2/${endpointId}/runsync`, headers: { authorization: `Bearer ${stack.key}` }, body: `{"input":${INPUT}}`,
    connections: CONNECTIONS, expect: '"COMPLETED"',
  };
  const processes = { core: stack.processes.core, facade: stack.processes.facade };
  return {
    /** Processor time of core and facade for each job, in microseconds. */
    async run(seconds: number): Promise<number> {
      const before = cpuOf(processes);
      const { answers } = await bench.load.ask<LoadResult>('run', { ...load, seconds } satisfies Load);
      const { core, facade } = cpuPer(before, processes, answers);
      return core! + facade!;
    },
    async stop(): Promise<void> {
      await machine.stop();
      await stack.stop();
    },
  };
}

/** The figure is the median over pairs of what the traced side took, in times of the other. */
export async function measureTraces(bench: Bench): Promise<Figure[]> {
  const collector = createServer((request, reply) => { request.resume().on('end', () => reply.writeHead(200).end()); });
  await new Promise<void>((resolve) => { collector.listen(0, '127.0.0.1', resolve); });
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const plain = await startSide(bench, {});
  const traced = await startSide(bench, { OTEL_EXPORTER_OTLP_ENDPOINT: url, SLIPWAY_TRACE_PERCENT: String(PERCENT) });
  try {
    bench.say(`POST /runsync, ${CONNECTIONS} connections each, with and without traces, at the same time`);
    const pair = async (): Promise<{ plain: number; traced: number }> => {
      const [without, withTraces] = await Promise.all([plain, traced].map((side) => side.run(bench.options.seconds)));
      return { plain: without!, traced: withTraces! };
    };
    for (let warm = 0; warm < 2; warm += 1) await pair();
    const pairs: { plain: number; traced: number }[] = [];
    for (let left = bench.options.rounds * PAIRS_PER_ROUND; left > 0; left -= 1) pairs.push(await pair());
    const cost = median(pairs.map((pair) => pair.traced / pair.plain));
    const cpu = { plain: median(pairs.map((pair) => pair.plain)), traced: median(pairs.map((pair) => pair.traced)) };
    bench.say(`pairs: ${pairs.map((pair) => (pair.traced / pair.plain).toFixed(3)).join(' ')}`);
    return [{ name: `processor time with traces of ${PERCENT} %`, path: 'session', value: cost, unit: '×', target: COST_MAX, cpu }];
  } finally {
    await traced.stop();
    await plain.stop();
    collector.closeAllConnections();
    collector.close();
  }
}
