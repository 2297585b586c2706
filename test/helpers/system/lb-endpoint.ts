/** Load-balancing endpoints of a test's system, and requests to them. */
import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { Endpoint, EndpointType } from '@slipway/proto/gen/slipway/v1/endpoint';
import { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { Test } from 'tap';
import { call } from '../grpc/grpc-clients.ts';
import { seededRandom } from '../time/seeded-random.ts';
import type { System } from './system.ts';

const random = seededRandom();

/** The worker that answers anything (lb-worker.mjs). */
export const LB_WORKER = [process.execPath, join(import.meta.dirname, 'lb-worker.mjs')];
let names = 0;

/** Options of a load-balancing endpoint. */
export interface LbEndpointOptions {
  /** Command of the worker. Default: the worker that answers anything. */
  command?: string[];
  /** Key of the account that owns it. Default: the system's key. */
  key?: string;
  /** Further fields of the template. */
  more?: Partial<Template>;
}

/** Creates an endpoint with its own template. Returns its id. */
export async function lbEndpoint(
  { clients, key: own }: Pick<System, 'clients' | 'key'>,
  fields: Partial<Endpoint> = {},
  { command = LB_WORKER, key = own, more = {} }: LbEndpointOptions = {},
): Promise<string> {
  names += 1;
  const template = Template.fromPartial({ name: `lb-${names}`, startCommand: command, serverless: true, ...more });
  const { id: templateId } = (await call(clients.templates, 'createTemplate', { template }, key)).template!;
  const endpoint = Endpoint.fromPartial({
    name: 'lb',
    templateId,
    type: EndpointType.LB,
    idleTimeoutSeconds: 60,
    computeType: 'CPU',
    ...fields,
  });
  const request = { endpoint, requestId: '', workersMax: fields.workersMax ?? 1, retryLimit: undefined };
  return (await call(clients.endpoints, 'createEndpoint', request, key)).endpoint!.id;
}

/** A request as the worker received it, with the worker's counters. */
export interface ShownRequest {
  worker: string;
  method: string;
  url: string;
  /** Alternating names and values. */
  headers: string[];
  bytes: number;
  sha256: string;
  left: number;
  hangs: number;
  /** Bytes that it has written for the latest /flow. */
  flowed: number;
  /** Bytes that it has written for all /flow and /talk requests. */
  flowedInAll: number;
  /** Method and path of each request to this worker except health checks. */
  seen: string[];
  /** Paths of the requests with Expect: 100-continue. */
  asked: string[];
  /** Value of PORT (asgi.py). */
  port: string;
}

/** Sends requests to the endpoints at one address with one key. */
export function lbClient({ url, key }: Pick<System, 'url' | 'key'>) {
  const at = (endpointId: string, path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}/v2/${endpointId}${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });
  return {
    at,
    shown: async (response: Promise<Response>): Promise<ShownRequest> =>
      (await (await response).json()) as ShownRequest,
  };
}

/**
 * Checks that a client that waits for 100 Continue before it sends its body receives it, and that the worker gets the
 * whole body.
 */
export async function checkContinue(
  t: Test,
  url: string,
  key: string,
  ...ways: [name: string, endpointId: string][]
): Promise<void> {
  for (const [name, id] of ways) {
    const body = random.bytes(100_000);
    const headers = { authorization: `Bearer ${key}`, expect: '100-continue', 'content-length': body.length };
    const answer = await new Promise<string>((resolve, reject) => {
      const asking = httpRequest(`${url}/v2/${id}/up`, { method: 'POST', agent: false, headers }, async (reply) => {
        resolve(Buffer.concat(await Array.fromAsync(reply as AsyncIterable<Buffer>)).toString());
      });
      asking
        .once('continue', () => asking.end(body))
        .once('error', reject)
        .flushHeaders();
    });
    t.match(JSON.parse(answer), { bytes: body.length, sha256: createHash('sha256').update(body).digest('hex') }, name);
  }
}
