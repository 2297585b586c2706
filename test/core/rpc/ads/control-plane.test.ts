// test: postgres, envoy, 10 s
/**
 * Core as the control plane of the real Envoy: workers start and end, core restarts, an Envoy rejects a configuration,
 * and endpoints scale by load reports.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLUSTER_TYPE } from '@slipway/core/rpc/ads/snapshot';
import { askAdmin, listenerAddresses } from '@slipway/edge/admin';
import { adminSocket, readEdgeConfig } from '@slipway/edge/config';
import { bootstrap } from '@slipway/edge/envoy-config/bootstrap';
import { httpManager } from '@slipway/edge/envoy-config/http';
import { createLogger } from '@slipway/kit/log/logger';
import { callMetadata, systemTransport } from '@slipway/kit/net/channel';
import type { DeltaDiscoveryResponse } from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import {
  AggregatedDiscoveryServiceClient,
  DeltaDiscoveryRequest,
} from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import { EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { HttpHealth, WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import type { Test } from 'tap';
import t from 'tap';
import { startReplicas } from '../../../helpers/system/core-replicas.ts';
import { ENVOY, skipWithoutEnvoy } from '../../../helpers/system/edge.ts';
import { waitFor } from '../../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const EDGE_KEY = 'edge-key-of-this-test-0123456789';

async function serve(t: Test, handler: RequestListener): Promise<string> {
  const server = createServer(handler);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns the edge's own configuration with one more listener, whose requests name their endpoint. */
async function startEnvoy(t: Test, cores: string[], activator: string, key = EDGE_KEY) {
  const dataDir = await mkdtemp(join(tmpdir(), 'slw-ads-'));
  const config = readEdgeConfig({
    SLIPWAY_EDGE_LISTEN: '127.0.0.1:0',
    SLIPWAY_EDGE_FACADES: activator,
    SLIPWAY_CORE_ADDRESS: cores.join(','),
    SLIPWAY_EDGE_DATA_DIR: dataDir,
    SLIPWAY_EDGE_KEY: key,
    SLIPWAY_EDGE_NAME: 'edge-1',
  });
  const whole = bootstrap(config, 0) as { static_resources: { listeners: object[] } };
  whole.static_resources.listeners.push({
    name: 'test',
    address: { socket_address: { address: '127.0.0.1', port_value: 0 } },
    filter_chains: [
      {
        filters: [
          httpManager({
            name: 'test',
            trustedProxies: 0,
            accessLog: false,
            silenceMs: 60_000,
            filters: [],
            virtualHosts: [
              {
                name: 'test',
                domains: ['*'],
                routes: [
                  {
                    match: { prefix: '/' },
                    route: { cluster_header: 'x-test-cluster', cluster_not_found_response_code: 'NOT_FOUND' },
                  },
                ],
              },
            ],
          }),
        ],
      },
    ],
  });
  const file = join(dataDir, 'envoy.json');
  writeFileSync(file, JSON.stringify(whole));
  const child = spawn(ENVOY, ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '-l', 'off'], {
    stdio: 'ignore',
  });
  const ended = new Promise((resolve) => {
    child.once('exit', resolve);
  });
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  });
  const admin = adminSocket(dataDir, 0);
  await waitFor('Envoy', async () => (await askAdmin(admin, '/ready')).status === 200);
  const address = (await listenerAddresses(admin))['test']!;
  const ask = async (endpointId: string, path = '/'): Promise<string> => {
    const answer = await fetch(`http://${address}${path}`, { headers: { 'x-test-cluster': `ep-${endpointId}` } });
    return answer.ok ? await answer.text() : `${answer.status}`;
  };
  return { ask, stats: async (filter: string) => (await askAdmin(admin, `/stats?filter=${filter}`)).text };
}

t.test('workers come and go, whatever core does', { skip: skipWithoutEnvoy() }, async (t) => {
  const core = await startReplicas(t, 2, { SLIPWAY_EDGE_KEY: EDGE_KEY });
  const agent = await core.joinAgent({ startWorkers: false }, core.replicas[1]);
  const endpointId = await core.createEndpoint({ type: EndpointType.LB, workersMin: 2, workersMax: 2 });
  const activator = await serve(t, (_request, response) => {
    response.end('activator');
  });
  const held: (() => void)[] = [];
  const connections = new Set<Socket>();
  const worker = (name: string): Promise<string> =>
    serve(t, (request, response) => {
      connections.add(request.socket);
      if (request.url === '/hold') held.push(() => response.end(name));
      else response.end(name);
    });
  const addresses = [await worker('first'), await worker('second')];
  const ids = await waitFor('two workers', () =>
    agent.desired.length === 2 ? agent.desired.map(({ workerId }) => workerId) : undefined,
  );
  const report = (index: number, health: HttpHealth, singleUse = false): void =>
    agent.send({
      workers: [
        { workerId: ids[index]!, endpointId, state: WorkerState.READY, address: addresses[index]!, health, singleUse },
      ],
    });

  const envoy = await startEnvoy(
    t,
    core.replicas.map(({ address }) => address),
    activator,
  );
  await waitFor('the activator', async () => (await envoy.ask(endpointId)) === 'activator');
  t.equal(await envoy.ask('unknown'), '404', 'no such endpoint');
  report(0, HttpHealth.READY);
  await waitFor('the first worker', async () => (await envoy.ask(endpointId)) === 'first');
  t.same(
    new Set(await Promise.all(Array.from({ length: 20 }, () => envoy.ask(endpointId)))),
    new Set(['first']),
    'and nobody else',
  );
  report(1, HttpHealth.READY);
  report(0, HttpHealth.UNHEALTHY);
  const served = async (name: string): Promise<boolean> =>
    (await Promise.all(Array.from({ length: 10 }, () => envoy.ask(endpointId)))).every((answer) => answer === name);
  await waitFor('the second worker alone', () => served('second'));

  await t.test('connections are pooled, unless they serve one request only', async () => {
    const opened = async (): Promise<number> => {
      const before = connections.size;
      for (let count = 0; count < 5; count += 1) await envoy.ask(endpointId);
      return connections.size - before;
    };
    await waitFor('connections that are kept', async () => (await opened()) === 0);
    report(1, HttpHealth.READY, true);
    await waitFor('a connection for each request', async () => (await opened()) === 5);
    // An observation of one worker holds for the other workers of its version, even if none was made of them.
    report(1, HttpHealth.READY);
    await waitFor('the same', async () => (await opened()) === 5);
  });

  await t.test('load reports', async (t) => {
    const requests = [envoy.ask(endpointId, '/hold'), envoy.ask(endpointId, '/hold'), envoy.ask(endpointId, '/hold')];
    const demand = async (): Promise<Record<string, unknown>[]> => [
      ...(await core.sql`SELECT worker_ids AS workers, in_flight AS counts, waiting FROM endpoint_demand
        WHERE endpoint_id = ${endpointId}`),
    ];
    await waitFor(
      'three in flight',
      async () => JSON.stringify(await demand()) === JSON.stringify([{ workers: [ids[1]], counts: [3], waiting: 0 }]),
    );
    for (const end of held) end();
    t.same(await Promise.all(requests), ['second', 'second', 'second']);
    await waitFor(
      'none',
      async () => JSON.stringify(await demand()) === JSON.stringify([{ workers: [], counts: [], waiting: 0 }]),
    );
  });

  await t.test('traffic continues when one replica ends, and when all do', async (t) => {
    await core.replicas[0]!.stop();
    t.ok(await served('second'), 'the same one');
    report(0, HttpHealth.READY);
    report(1, HttpHealth.UNHEALTHY);
    await waitFor('news by the other replica', () => served('first'));
    await core.replicas[1]!.stop();
    t.ok(await served('first'), 'nobody says anything, and it is served');
  });

  t.match(await envoy.stats('cluster_manager.cds.update_rejected'), /: 0/, 'Envoy took everything');
});

t.test(
  'an edge without the key is told nothing; one with it nothing before core has read all; a refusal is ' +
    'logged with its cause',
  async (t) => {
    const lines: string[] = [];
    const logger = createLogger('test', 'error');
    logger.error = ((...args: unknown[]) => {
      lines.push(JSON.stringify(args));
    }) as typeof logger.error;
    logger.child = () => logger as never;
    const core = await startReplicas(t, 1, { SLIPWAY_EDGE_KEY: EDGE_KEY }, { logger });
    const endpointId = await core.createEndpoint({ type: EndpointType.LB, workersMin: 0 });
    const open = (key: string) => {
      const client = systemTransport.openClient(AggregatedDiscoveryServiceClient, core.replicas[0]!.address);
      t.teardown(() => client.close());
      const stream = client.deltaAggregatedResources(callMetadata(key));
      const answers: DeltaDiscoveryResponse[] = [];
      const errors: string[] = [];
      stream
        .on('data', (answer: DeltaDiscoveryResponse) => answers.push(answer))
        .on('error', (error) => errors.push(error.message));
      t.teardown(() => stream.cancel());
      const send = (fields: Parameters<typeof DeltaDiscoveryRequest.fromPartial>[0]): void => {
        stream.write(DeltaDiscoveryRequest.fromPartial(fields));
      };
      return { answers, errors, send };
    };
    const stranger = open('wrong');
    stranger.send({ typeUrl: CLUSTER_TYPE });
    await waitFor('the refusal', () => stranger.errors.some((text) => text.includes('UNAUTHENTICATED')));
    t.same(stranger.answers, []);

    // Core cannot read its endpoints yet. Until it has, it must not report an endpoint as missing.
    const lock = await core.sql.reserve();
    await lock`BEGIN`;
    await lock`LOCK TABLE endpoint`;
    const edge = open(EDGE_KEY);
    edge.send({
      node: { id: 'edge-1', cluster: '', metadata: {} },
      typeUrl: CLUSTER_TYPE,
      initialResourceVersions: { [`ep-${endpointId}`]: 'of before' },
    });
    await waitFor(
      'the read to be held up',
      async () =>
        (
          await core.sql`SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock' AND query LIKE '%AS "singleUse"%'`
        ).length > 0,
    );
    await lock`ROLLBACK`;
    lock.release();
    const [first] = await waitFor('clusters', () => (edge.answers.length > 0 ? edge.answers : undefined));
    t.same(
      [first!.resources.map(({ name }) => name), first!.removedResources],
      [[`ep-${endpointId}`], []],
      'the first word has all there are',
    );
    edge.send({
      typeUrl: CLUSTER_TYPE,
      responseNonce: first!.nonce,
      errorDetail: { code: 3, message: 'no such field', details: [] },
    });
    await waitFor('the line', () => lines.some((line) => line.includes('no such field') && line.includes('edge-1')));
    const other = await core.createEndpoint({ type: EndpointType.LB, workersMin: 0 });
    const [, second] = await waitFor('the next', () => (edge.answers.length > 1 ? edge.answers : undefined));
    t.same(
      second!.resources.map(({ name }) => name),
      [`ep-${other}`],
      'what was refused is not sent again, what is new is',
    );

    const back = open(EDGE_KEY);
    const known = Object.fromEntries(
      [first!, second!].flatMap(({ resources }) => resources.map(({ name, version }) => [name, version])),
    );
    back.send({
      node: { id: 'edge-1', cluster: '', metadata: {} },
      typeUrl: CLUSTER_TYPE,
      initialResourceVersions: { ...known, 'ep-gone': 'x' },
    });
    const [only] = await waitFor('an answer', () => (back.answers.length > 0 ? back.answers : undefined));
    t.match(only, { resources: [], removedResources: ['ep-gone'] }, 'after a reconnect only what differs');
  },
);
