// test: postgres, envoy, 25 s
/**
 * A machine behind the real edge that cannot be dialled. Its agent's tunnels enter where its session does,
 * authenticated by certificate, one to each of two facades.
 */
import { request as httpsRequest } from 'node:https';
import { buildFacade } from '@slipway/facades/app';
import { readFacadeConfig } from '@slipway/facades/config';
import { pino } from 'pino';
import t from 'tap';
import { quietPort } from '../../helpers/net/ports.ts';
import { podCalls } from '../../helpers/pods/pod-calls.ts';
import { makeCertificates, skipWithoutEnvoy, startEdge, startForeignEnvoy } from '../../helpers/system/edge.ts';
import { LB_WORKER, lbEndpoint } from '../../helpers/system/lb-endpoint.ts';
import { startSystem } from '../../helpers/system/system.ts';
import { waitFor } from '../../helpers/time/wait-for.ts';

t.setTimeout(600_000);
const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789', SLIPWAY_POD_DOMAINS: 'pods.localhost' };

/** How Envoy is run. */
const RUNNERS = { 'the edge': startEdge, 'an Envoy that something else runs': startForeignEnvoy };

for (const [runner, start] of Object.entries(RUNNERS))
  t.test(`tunnels through ${runner}`, { skip: skipWithoutEnvoy() }, async (t) => {
    const lines: string[] = [];
    const logger = pino(
      { level: 'info' },
      {
        write: (line: string) => {
          lines.push(line);
        },
      },
    );
    const system = await startSystem(t, { agents: 0, coreEnv: KEY, facadeEnv: KEY, logger });
    const second = buildFacade(
      readFacadeConfig({
        SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
        SLIPWAY_HTTP_HOST: '127.0.0.1',
        SLIPWAY_HTTP_PORT: '0',
        ...KEY,
      }),
      { logger },
    );
    const { url } = await second.start();
    t.teardown(() => second.stop());
    const certificates = await makeCertificates(t);
    certificates.issue('rack-1', 'URI:slipway://agent/rack-1');
    const { file } = certificates;
    const edge = await start(t, {
      SLIPWAY_EDGE_FACADES: `${new URL(system.url).host},${new URL(url).host}`,
      SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
      ...KEY,
      ...certificates.env,
      SLIPWAY_EDGE_AGENT_LISTEN: '127.0.0.1:0',
      SLIPWAY_EDGE_AGENT_CA_FILE: file('ca.pem'),
      SLIPWAY_EDGE_AGENT_URI_PREFIX: 'slipway://agent/',
      SLIPWAY_EDGE_DRAIN_MS: '100',
    });
    const agents = edge.addresses['agents']!;
    const tls = {
      SLIPWAY_CORE_CA_FILE: file('ca.pem'),
      SLIPWAY_CORE_CERT_FILE: file('rack-1.pem'),
      SLIPWAY_CORE_CERT_KEY_FILE: file('rack-1.key'),
      SLIPWAY_TUNNEL_ADDRESS: `https://${agents}`,
    };
    const ask = (address: string, path: string, more: Record<string, string> = {}) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const [host, port] = address.split(':') as [string, string];
        const headers = { authorization: `Bearer ${system.key}`, ...more };
        httpsRequest(
          { host, port, path, agent: false, servername: 'localhost', headers, ca: certificates.read('ca.pem') },
          async (answer) => {
            resolve({
              status: answer.statusCode!,
              text: Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>)).toString(),
            });
          },
        )
          .once('error', reject)
          .end();
      });
    await system.startAgent(`grpcs://${agents}`, tls);
    const count = (text: string): number =>
      lines.filter((line) => line.includes(`"${text}"`) && line.includes('machineId')).length;
    await waitFor('a tunnel at each facade', () => count('tunnel opened') - count('tunnel closed') === 2);
    const id = await lbEndpoint(system, { workerConcurrency: 1_000 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ask(edge.addresses['public']!, `/v2/${id}/any?n=${n}`)),
    );
    t.same(
      answers.map(({ status }) => status),
      answers.map(() => 200),
      'whichever facade has them',
    );
    t.equal((await ask(edge.addresses['public']!, `/v2/${id}/download?bytes=3000000`)).text.length, 3_000_000);
    await t.rejects(ask(agents, '/edge/tunnel/0'), 'there is no way in without a certificate');

    const port = await quietPort();
    const pods = podCalls(system.clients, system.key);
    const env = { PORT: String(port), HEALTH_CHECK_PATH: '/ping' };
    const pod = await pods.create({
      name: 'web',
      startCommand: LB_WORKER,
      ports: [`${port}/http`],
      env,
      computeType: 'CPU',
    });
    await waitFor(
      'its port, by path',
      async () => (await ask(edge.addresses['public']!, `/pods/${pod.id}/${port}/x`)).status === 200,
    );
    // On a busy machine the connection through the other facade may not open in its 3 s.
    await waitFor('its port, by host', async () => {
      const open = await ask(edge.addresses['public']!, '/v2/x/run', {
        host: `${pod.id}-${port}.pods.localhost`,
        authorization: '',
      });
      return open.status === 200 && open.text.includes('"url":"/v2/x/run"');
    });

    await system.facade.stop();
    await waitFor('the other facade alone', async () => {
      const asked = await Promise.all(
        Array.from({ length: 6 }, (_, n) => ask(edge.addresses['public']!, `/v2/${id}/any?n=${n}`)),
      );
      return asked.every(({ status }) => status === 200);
    });
  });
