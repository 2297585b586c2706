/** The system of a soak: core, two facades behind Envoy, an agent, and endpoints of each kind. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import { call } from '@slipway/test/helpers/grpc/grpc-clients';
import { jsHandler, pythonHandler } from '@slipway/test/helpers/system/handlers';
import { lbEndpoint } from '@slipway/test/helpers/system/lb-endpoint';
import { startProcesses } from '@slipway/test/helpers/system/processes';
import type { PublicJson } from '@slipway/test/helpers/system/public-api';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import type { Test } from 'tap';
import { INSPECTED } from './parts.ts';

const WATCHED = { SLIPWAY_METRICS_LISTEN: '127.0.0.1:0', ...INSPECTED };
const WEBHOOK_MS_MAX = 60_000;

export type SoakSystem = Awaited<ReturnType<typeof startSoakSystem>>;

/** Starts everything and ends it with `t`. */
export async function startSoakSystem(t: Test, { isEdge, isPython }: { isEdge: boolean; isPython: boolean }) {
  const slipway = await startProcesses(t, {
    facades: 2,
    edge: isEdge,
    env: WATCHED,
    agentEnv: { SLIPWAY_CPU_SLOTS: '16', ...WATCHED },
  });
  const js = jsHandler('all.js');
  const create = (command: string[], fields: Partial<Endpoint> = {}, workersMax = 2) =>
    slipway.createEndpoint({ command, fields: { workersMin: 1, ...fields }, workersMax });
  const ids = {
    js: await create(js, { workersMin: 2 }, 3),
    odd: await create(js),
    zero: await create(js, { workersMin: 0, idleTimeoutSeconds: 2 }, 1),
    python: await create(isPython ? pythonHandler('new', 'all.py') : js),
    lb: await lbEndpoint(slipway, { workersMin: 1, workersMax: 2 }),
  };
  const webhooks = await receiveWebhooks(t);
  await waitFor(
    'the load-balancing worker',
    async () => (await slipway.request('GET', `/v2/${ids.lb}/x`)).status === 200,
  );

  /** Changes the environment of an endpoint's workers, which makes a new version, and waits until it serves alone. */
  const redeploy = async (number: number): Promise<void> => {
    const id = number % 2 === 0 ? ids.js : ids.lb;
    const { endpoint } = await call(slipway.clients.endpoints, 'getEndpoint', { id }, slipway.key);
    const template = Template.fromPartial({ id: endpoint!.templateId, env: { RELEASE: `${number}` } });
    await call(slipway.clients.templates, 'updateTemplate', { template, updateMask: ['env'] }, slipway.key);
    await waitFor(`version ${number} to serve alone`, async () => {
      const { workers } = await call(slipway.clients.machines, 'listWorkers', { endpointId: id }, slipway.key);
      const newest = Math.max(...workers.map(({ version }) => version));
      return workers.length > 0 && newest > 0 && workers.every(({ version }) => version === newest);
    });
  };
  const useNewEndpoint = async (): Promise<void> => {
    const id = await create(js, { workersMin: 0 }, 1);
    const answer = await slipway.request('POST', `/v2/${id}/runsync?wait=60000`, { input: { number: 1 } });
    if (answer.json.status !== 'COMPLETED') throw new Error(`${answer.status} ${answer.text}`);
    await call(
      slipway.clients.endpoints,
      'updateEndpoint',
      { endpoint: Endpoint.fromPartial({ id, workersMax: 0 }), updateMask: ['workers_max'] },
      slipway.key,
    );
    await call(slipway.clients.endpoints, 'deleteEndpoint', { id }, slipway.key);
  };
  const sendAbandoned = (path: string, body: object, ms: number): Promise<Response> =>
    fetch(slipway.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${slipway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(ms),
    });
  return { ...slipway, ...webhooks, ids, send: slipway.request, redeploy, useNewEndpoint, sendAbandoned };
}

/** Starts a receiver of webhooks. It keeps each outcome until `webhookOf` takes it. */
async function receiveWebhooks(t: Test) {
  const received = new Map<string, PublicJson>();
  const waiting = new Map<string, (job: PublicJson) => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      response.end();
      const job = JSON.parse(Buffer.concat(parts).toString()) as PublicJson;
      const take = waiting.get(job.id);
      if (take) take(job);
      else received.set(job.id, job);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    webhookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** Returns the last outcome of each job that was received and not taken: of calls that came again, or too late. */
    furtherWebhooks: (): PublicJson[] => [...received.values()],
    /** Resolves with the outcome that a webhook reports for a job. Rejects if none comes within a minute. */
    webhookOf: (id: string): Promise<PublicJson> => {
      const early = received.get(id);
      received.delete(id);
      if (early) return Promise.resolve(early);
      return new Promise<PublicJson>((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(id);
          reject(new Error(`no webhook for job ${id} within ${WEBHOOK_MS_MAX} ms`));
        }, WEBHOOK_MS_MAX);
        waiting.set(id, (job) => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(job);
        });
      });
    },
  };
}
