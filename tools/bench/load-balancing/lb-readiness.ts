/** Measures how fast a worker's readiness reaches traffic, and what 2,000 endpoints cost an Envoy. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { ScriptedAgent } from '@slipway/test/helpers/grpc/scripted-agent';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import type { Figure } from '../figure.ts';
import type { Bench } from '../stack/bench.ts';
import type { Stack } from '../stack/stack.ts';
import type { BenchEdge } from './lb-edge.ts';

const ENDPOINTS = 2_000;
const CREATED_AT_ONCE = 32;
const MEMORY_MIB_MAX = 250;
const READINESS_P95_MS_MAX = 50;
const FLIPS = 40;

/** Measures both. The readiness is measured among all those endpoints. */
export async function measureReadiness(bench: Bench, stack: Stack, edge: BenchEdge): Promise<Figure[]> {
  bench.say(`lb: creating ${ENDPOINTS} endpoints`);
  const { templates, endpoints } = stack.clients;
  const template = Template.fromPartial({ name: 'lb-many', startCommand: ['true'], serverless: true });
  const { id: templateId } = (await call(templates, 'createTemplate', { template }, stack.key)).template!;
  const create = async (fields: Partial<Endpoint>): Promise<string> => {
    const endpoint = Endpoint.fromPartial({
      name: 'lb',
      templateId,
      type: EndpointType.LB,
      computeType: 'CPU',
      ...fields,
    });
    return (
      await call(
        endpoints,
        'createEndpoint',
        { endpoint, requestId: '', workersMax: 2, retryLimit: undefined },
        stack.key,
      )
    ).endpoint!.id;
  };
  const before = edge.memoryMib();
  const clustersBefore = await edge.clusters();
  for (let made = 0; made < ENDPOINTS; made += CREATED_AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(CREATED_AT_ONCE, ENDPOINTS - made) }, () => create({})));
  }
  await waitFor('Envoy to know them', async () => (await edge.clusters()) >= clustersBefore + ENDPOINTS, 60_000);
  const memory: Figure = {
    name: `LB: Envoy with ${ENDPOINTS} endpoints`,
    path: 'Envoy',
    value: edge.memoryMib(),
    unit: 'MiB',
    target: MEMORY_MIB_MAX,
  };
  bench.say(
    `lb: Envoy had ${Math.round(before)} MiB before; Prometheus reads ` +
      `${Math.round((await edge.prometheusBytes()) / 1_000)} kB`,
  );
  const agent = new ScriptedAgent({
    address: stack.coreAddress,
    agentKey: await stack.newAgentKey(),
    machineId: 'flippingflip',
    startWorkers: false,
  });
  await agent.connect();
  try {
    const times = await flips(bench, {
      stack,
      edge,
      agent,
      endpointId: await create({ workersMin: 2, workersMax: 2 }),
    });
    const p95 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)]!;
    const name = `LB: readiness to traffic among ${ENDPOINTS} endpoints, p95`;
    return [memory, { name, path: 'Envoy', value: p95, unit: 'ms', target: READINESS_P95_MS_MAX }];
  } finally {
    agent.drop();
  }
}

interface Flipping {
  stack: Stack;
  edge: BenchEdge;
  agent: ScriptedAgent;
  endpointId: string;
}

/**
 * Makes two workers ready in turn. Returns the times from the agent's report to the other worker's first answer, in
 * milliseconds.
 */
async function flips(bench: Bench, { stack, edge, agent, endpointId }: Flipping): Promise<number[]> {
  const servers = ['0', '1'].map((name) =>
    createServer((_request, reply) => {
      reply.end(name);
    }),
  );
  try {
    const addresses = await Promise.all(
      servers.map(
        (server) =>
          new Promise<string>((resolve) => {
            server.listen(0, '127.0.0.1', () => resolve(`127.0.0.1:${(server.address() as AddressInfo).port}`));
          }),
      ),
    );
    // The agent also gets workers of the other endpoints, whose machine has gone.
    const ours = (): string[] =>
      agent.desired.filter((worker) => worker.endpointId === endpointId).map(({ workerId }) => workerId);
    const ids = await waitFor('two workers', () => (ours().length === 2 ? ours() : undefined), 30_000);
    const report = (ready: number): void =>
      agent.send({
        workers: ids.map((workerId, index) => ({
          workerId,
          endpointId,
          state: WorkerState.READY,
          address: addresses[index]!,
          health: index === ready ? HttpHealth.READY : HttpHealth.UNHEALTHY,
        })),
      });
    const headers = { authorization: `Bearer ${stack.key}` };
    const ask = async (): Promise<string> => (await fetch(`${edge.url}/v2/${endpointId}/x`, { headers })).text();
    report(0);
    await waitFor('the first', async () => (await ask()) === '0', 30_000);
    bench.say('lb: readiness to traffic');
    const times: number[] = [];
    for (let flip = 1; flip <= FLIPS; flip += 1) {
      const since = performance.now();
      report(flip % 2);
      while ((await ask()) !== String(flip % 2))
        if (performance.now() - since > 10_000) throw new Error('a ready worker gets no requests');
      times.push(performance.now() - since);
    }
    return times;
  } finally {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }
}
