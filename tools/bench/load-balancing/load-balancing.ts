/**
 * Part `lb`: the cost of the path to a worker of a load-balancing endpoint, through Envoy and through the activator,
 * compared with the worker itself.
 */

import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { Child } from '../child.ts';
import type { Figure } from '../figure.ts';
import { median } from '../figure.ts';
import { scratchFolder } from '../scratch-folder.ts';
import type { Bench } from '../stack/bench.ts';
import { INPUT, measureLoad } from '../stack/bench.ts';
import type { Stack } from '../stack/stack.ts';
import { startStack } from '../stack/stack.ts';
import type { BenchEdge } from './lb-edge.ts';
import { hasEnvoy, startLbEdge } from './lb-edge.ts';
import { measureReadiness } from './lb-readiness.ts';

/** Targets in milliseconds: time over that of a direct request (p50, p95), and over the worker's own start. */
const OVER_MS = { Envoy: { p50: 1, p95: 2 }, activator: { p50: 1.5, p95: 4 } } as const;
const FROM_ZERO_OVER_MS = 150;
const RATES = [200, 1_000];
const CONNECTIONS = 64;
const NODE = join(import.meta.dirname, '../../../node_modules/.bin/node');
const WORKER = join(import.meta.dirname, '../workers/lb-worker.mjs');

/** Measures the part. Returns no figures if there is no Envoy. */
export async function measureLb(bench: Bench): Promise<Figure[]> {
  if (!hasEnvoy()) {
    bench.say('lb: there is no Envoy; `npm run test:python` fetches it');
    return [];
  }
  const stack = await startStack(bench);
  const stops: (() => Promise<void>)[] = [() => stack.stop()];
  try {
    const edge = await startLbEdge(stack);
    stops.push(() => edge.stop());
    const agent = await startAgent(stack);
    stops.push(() => agent.stop());
    const fromZero = await measureFromZero(bench, stack, edge);
    const ways = await measureWays(bench, stack, edge);
    await stops.pop()!();
    return [...ways, ...fromZero, ...(await measureReadiness(bench, stack, edge))];
  } finally {
    for (const stop of stops.toReversed()) await stop();
  }
}

async function startAgent(stack: Stack): Promise<{ stop(): Promise<void> }> {
  const folder = await scratchFolder('agent-');
  const child = await Child.start(
    'gpu-agent/main.ts',
    {
      SLIPWAY_CORE_ADDRESS: stack.coreAddress,
      SLIPWAY_AGENT_KEY: await stack.newAgentKey(),
      SLIPWAY_AGENT_DATA_DIR: folder,
      SLIPWAY_CPU_SLOTS: '8',
      SLIPWAY_LOG_LEVEL: 'error',
      SLIPWAY_WORKER_USER: 'same',
      SLIPWAY_AGENT_ALLOW_COMMANDS: 'true',
      SLIPWAY_AGENT_CONTAINERS: 'none',
    },
    stack.flags('agent'),
  );
  return {
    stop: async () => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function createEndpoint(stack: Stack, fields: Partial<Endpoint>): Promise<string> {
  const template = Template.fromPartial({
    name: `lb-${Math.trunc(performance.now() * 1_000)}`,
    startCommand: [NODE, WORKER],
    serverless: true,
  });
  const { id: templateId } = (await call(stack.clients.templates, 'createTemplate', { template }, stack.key)).template!;
  const endpoint = Endpoint.fromPartial({
    name: 'lb',
    templateId,
    type: EndpointType.LB,
    computeType: 'CPU',
    idleTimeoutSeconds: 3_600,
    ...fields,
  });
  return (
    await call(
      stack.clients.endpoints,
      'createEndpoint',
      { endpoint, requestId: '', workersMax: 1, retryLimit: undefined },
      stack.key,
    )
  ).endpoint!.id;
}

/** Measures the latency at two rates, and the requests a second at full speed. */
async function measureWays(bench: Bench, stack: Stack, edge: BenchEdge): Promise<Figure[]> {
  const straight = await createEndpoint(stack, { workersMin: 1 });
  // With a concurrency below 100 Envoy sends everything to the activator.
  const held = await createEndpoint(stack, { workersMin: 1, workerConcurrency: 99 });
  const headers = { authorization: `Bearer ${stack.key}` };
  for (const id of [straight, held]) {
    await waitFor(
      'a worker',
      async () => (await fetch(`${edge.url}/v2/${id}/x`, { method: 'POST', headers })).ok,
      60_000,
    );
  }
  const [worker] = await stack.sql<{ address: string }[]>`SELECT address FROM worker WHERE endpoint_id = ${straight}`;
  const urls = {
    direct: `http://${worker!.address}/x`,
    Envoy: `${edge.url}/v2/${straight}/x`,
    activator: `${stack.url}/v2/${held}/x`,
  };
  const load = { headers, body: `{"input":${INPUT}}`, expect: 'ok' };
  const processes = { envoy: edge.pid, facade: stack.processes.facade, core: stack.processes.core };
  const figures: Figure[] = [];
  for (const perSecond of RATES) {
    const times = { p50: 0, p95: 0 };
    for (const path of ['direct', 'Envoy', 'activator'] as const) {
      bench.say(`lb: ${perSecond} requests/s, ${path}`);
      const { p50Ms, p95Ms, cpu } = await measureLoad(
        bench,
        { ...load, url: urls[path], connections: CONNECTIONS, perSecond },
        processes,
      );
      if (path === 'direct') Object.assign(times, { p50: p50Ms, p95: p95Ms });
      for (const [name, value] of [
        ['p50', p50Ms],
        ['p95', p95Ms],
      ] as const) {
        const target = path === 'direct' ? {} : { target: times[name] + OVER_MS[path][name] };
        figures.push({
          name: `LB at ${perSecond}/s, ${name}`,
          path,
          value,
          unit: 'ms',
          ...target,
          ...(name === 'p50' ? { cpu } : {}),
        });
      }
    }
  }
  let ceiling = 0;
  for (const path of ['direct', 'Envoy', 'activator'] as const) {
    bench.say(`lb: ${CONNECTIONS} connections, ${path}`);
    const { rate, cpu } = await measureLoad(bench, { ...load, url: urls[path], connections: CONNECTIONS }, processes);
    if (path === 'direct') ceiling = rate;
    figures.push({ name: `LB ×${CONNECTIONS}`, path, value: rate, unit: '/s', cpu });
    if (path !== 'direct')
      figures.push({ name: `LB ×${CONNECTIONS}, share of direct`, path, value: (100 * rate) / ceiling, unit: '%' });
  }
  return figures;
}

/**
 * Measures the time from a request to an endpoint without a worker to its answer. The target is the time that the
 * worker alone takes until it answers, plus a margin.
 */
async function measureFromZero(bench: Bench, stack: Stack, edge: BenchEdge): Promise<Figure[]> {
  const [own, whole]: [number[], number[]] = [[], []];
  for (let round = 0; round < bench.options.rounds; round += 1) {
    bench.say('lb: from zero');
    const known = await edge.clusters();
    const id = await createEndpoint(stack, {});
    await waitFor('Envoy to know it', async () => (await edge.clusters()) > known);
    own.push(await ownStartMs());
    const since = performance.now();
    const answer = await fetch(`${edge.url}/v2/${id}/x`, { headers: { authorization: `Bearer ${stack.key}` } });
    if (!answer.ok) throw new Error(`from zero: ${answer.status} ${await answer.text()}`);
    whole.push(performance.now() - since);
  }
  return [
    { name: 'LB worker by itself until it answers', path: '', value: median(own), unit: 'ms' },
    { name: 'LB from zero', path: 'Envoy', value: median(whole), unit: 'ms', target: median(own) + FROM_ZERO_OVER_MS },
  ];
}

async function ownStartMs(): Promise<number> {
  const since = performance.now();
  const port = 20_000 + Math.trunc(performance.now() % 10_000);
  const child = spawn(NODE, [WORKER], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  try {
    await waitFor('the worker', () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    return performance.now() - since;
  } finally {
    child.kill('SIGKILL');
  }
}
