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

/** What it is made of. */
export interface LbEndpointOptions {
  /** Default: the worker that answers anything. */
  command?: string[];
  /** Whose it is. Default: the system's. */
  key?: string;
  /** More of the template. */
  more?: Partial<Template>;
}

/** Creates one with a template of its own; answers its id. */
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

/** What the worker shows of a request. */
export interface ShownRequest {
  worker: string;
  method: string;
  url: string;
  /** Names and values in turns. */
  headers: string[];
  bytes: number;
  sha256: string;
  left: number;
  hangs: number;
  /** Bytes of the latest /flow that it has written. */
  flowed: number;
  /** Bytes of every /flow and /talk that it has written. */
  flowedInAll: number;
  /** Method and path of all that this worker was asked, but for its health. */
  seen: string[];
  /** Paths of what it was asked whether it wants a body. */
  asked: string[];
  /** What PORT says (asgi.py). */
  port: string;
}

/** Requests to the endpoints at one address in the name of one key. */
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
 * A client that sends its body only when it hears that it is wanted (Expect: 100-continue) hears that, and the worker
 * gets all of it.
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
