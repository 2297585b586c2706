/** A system behind the real Envoy, whose requests to load-balancing endpoints go straight to their workers. */

import type { OutgoingHttpHeaders } from 'node:http';
import { request as httpRequest } from 'node:http';
import { askAdmin } from '@slipway/edge/admin';
import { adminSocket } from '@slipway/edge/config';
import { clusterName } from '@slipway/kit/net/edge-authorizer';
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { Test } from 'tap';
import { quietPort } from '../net/ports.ts';
import { waitFor } from '../time/wait-for.ts';
import type { RunningEdge } from './edge.ts';
import { startEdge } from './edge.ts';
import { LB_WORKER, lbEndpoint } from './lb-endpoint.ts';
import { startSystem } from './system.ts';

const KEY = { SLIPWAY_EDGE_KEY: 'edge-key-of-this-test-0123456789' };
/** Longest time at a worker, in milliseconds. */
export const PROCESSING_MS = 8_000;

interface Sent {
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: Buffer;
  key?: string;
}
interface Reply {
  status: number;
  headers: Record<string, unknown>;
  text: string;
  json: Record<string, unknown>;
}
/** `epoch`: number in its row of take-overs. */
export type Serving = RunningEdge & { epoch?: number };
interface Shown {
  worker: string;
  method: string;
  url: string;
  headers: string[];
  sha256: string;
  seen: string[];
}

/**
 * Returns the number of requests that an Envoy has sent straight to an endpoint's workers, or another of its counters.
 */
export async function directCount(
  id: string,
  { dataDir, epoch = 0 }: Pick<Serving, 'dataDir' | 'epoch'>,
  number = 'rq_total',
): Promise<number> {
  type Host = { priority?: number; stats: { name: string; value?: string }[] };
  const { cluster_statuses: clusters } = JSON.parse(
    (await askAdmin(adminSocket(dataDir, epoch), '/clusters?format=json')).text,
  ) as {
    cluster_statuses: { name: string; host_statuses?: Host[] }[];
  };
  const hosts = clusters.find(({ name }) => name === clusterName(id))?.host_statuses ?? [];
  const counts = hosts
    .filter(({ priority = 0 }) => priority === 0)
    .flatMap(({ stats }) => stats.filter(({ name }) => name === number));
  return counts.reduce((sum, { value }) => sum + Number(value ?? 0), 0);
}

/** Starts everything, and what tests do with it. */
export async function startDirectWay(
  t: Test,
  coreEnv: Record<string, string> = {},
  facadeEnv: Record<string, string> = {},
) {
  const system = await startSystem(t, {
    coreEnv: { ...KEY, ...coreEnv },
    facadeEnv: {
      ...KEY,
      SLIPWAY_LB_DOMAINS: 'lb.localhost',
      SLIPWAY_LB_PROCESSING_MS: String(PROCESSING_MS),
      SLIPWAY_LB_HOLD_MS: '30000',
      SLIPWAY_LB_SOCKET_IDLE_MS: '2500',
      ...facadeEnv,
    },
  });
  const settings = {
    ...KEY,
    SLIPWAY_EDGE_FACADES: new URL(system.url).host,
    SLIPWAY_CORE_ADDRESS: system.cores[0]!.address,
    SLIPWAY_EDGE_LISTEN: `127.0.0.1:${await quietPort()}`,
    SLIPWAY_LB_SOCKET_IDLE_MS: '2500',
  };
  const edge: Serving = await startEdge(t, settings);
  const send = (
    path: string,
    { method = 'GET', headers = {}, body, key = system.key }: Sent = {},
    { addresses }: Pick<Serving, 'addresses'> = edge,
  ) =>
    new Promise<Reply>((resolve, reject) => {
      const [host, port] = addresses['public']!.split(':');
      const auth = key === '' ? {} : { authorization: `Bearer ${key}` };
      const asking = httpRequest({ host, port, path, method, headers: { ...auth, ...headers } }, async (answer) => {
        const text = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>).catch(() => [])).toString();
        let json = {};
        try {
          json = JSON.parse(text) as Record<string, unknown>;
        } catch {
          /* It is none. */
        }
        resolve({ status: answer.statusCode!, headers: answer.headers, text, json });
        asking.destroy();
      });
      asking.once('error', reject).end(body);
    });
  /** Creates an endpoint; resolves when its requests go straight to its workers. */
  const create = async (fields: Partial<Endpoint> = {}, command = LB_WORKER): Promise<string> => {
    const id = await lbEndpoint(system, fields, { command });
    await waitDirect(id);
    // This worker closes idle connections early. Once core has learned that, Envoy gets a new cluster, whose counters
    // begin at 0.
    if (command === LB_WORKER && fields.env?.['KEEP_MS'] === undefined)
      await waitFor('one connection for each request', () => hasSingleUse(id));
    return id;
  };
  const hasSingleUse = async (id: string): Promise<boolean> => {
    type Dump = { configs: { cluster?: { name: string; typed_extension_protocol_options?: unknown } }[] };
    const { configs } = JSON.parse(
      (await askAdmin(adminSocket(edge.dataDir, edge.epoch ?? 0), '/config_dump?resource=dynamic_active_clusters'))
        .text,
    ) as Dump;
    return JSON.stringify(configs.find(({ cluster }) => cluster?.name === clusterName(id))).includes(
      '"max_requests_per_connection":1',
    );
  };
  const waitDirect = (id: string, by: Serving = edge): Promise<unknown> =>
    waitFor('the direct way', async () => {
      const before = await direct(id, by);
      return (await send(`/v2/${id}/x`, {}, by)).status === 200 && (await direct(id, by)) > before;
    });
  const direct = (id: string, by: Pick<Serving, 'dataDir' | 'epoch'> = edge, number?: string): Promise<number> =>
    directCount(id, by, number);
  const shown = async (...asked: Parameters<typeof send>): Promise<Shown> =>
    (await send(...asked)).json as unknown as Shown;
  return { system, settings, edge, send, shown, create, waitDirect, direct };
}
