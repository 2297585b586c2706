/** The account that floods: its resources, and the kinds of floods that it makes with them. */

import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Flood } from '../load/flood-load.ts';
import { INPUT } from '../stack/bench.ts';
import { startMachine, workerCommand } from '../stack/machine.ts';
import type { Stack } from '../stack/stack.ts';

/** A flood without the address and key. */
export type FloodKind = [name: string, flood: Omit<Flood, 'url' | 'headers' | 'body'> & Partial<Flood>];

/** Templates of the account's lists, and the bytes of the environment of each: 5.8 MB a list. */
const TEMPLATES = 24;
const TEMPLATE_BYTES = 240_000;
const VALUE_BYTES = 2_000;

/** The account and its resources. */
export interface LoudAccount {
  key: string;
  kinds: FloodKind[];
  stop(): Promise<void>;
}

/** Makes the account with two endpoints: a queue with a worker and unanswered webhooks, and LB without workers. */
export async function makeLoudAccount(stack: Stack): Promise<LoudAccount> {
  const key = await stack.newAccountKey();
  const endpointId = await stack.createEndpoint(1, workerCommand(), key);
  const idle = await stack.createEndpoint(0, workerCommand(), key);
  const machine = await startMachine(stack, 'session', endpointId, { workers: 1, key });
  const send = async <T>(path: string, body: object, headers: Record<string, string> = {}): Promise<[T, Response]> => {
    const answer = await fetch(stack.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return [(await answer.json()) as T, answer];
  };
  const [{ id: jobId }] = await send<{ id: string }>(`/v2/${idle}/run`, { input: {} });
  // Ends the job's streams at once.
  await send(`/v2/${idle}/cancel/${jobId}`, {});
  const env = Object.fromEntries(
    Array.from({ length: TEMPLATE_BYTES / VALUE_BYTES }, (_, n) => [`NAME_${n}`, 'x'.repeat(VALUE_BYTES)]),
  );
  const template = { imageName: '', isServerless: true, dockerStartCmd: ['true'] };
  for (let n = 0; n < TEMPLATES; n += 1) await send('/v1/templates', { ...template, name: `large ${n}`, env });
  const [{ id: templateId }] = await send<{ id: string }>('/v1/templates', { ...template, name: 'http' });
  const [{ id: http }] = await send<{ id: string }>('/v1/endpoints', {
    name: 'http',
    templateId,
    type: 'LB',
    computeType: 'CPU',
    workersMin: 0,
    workersMax: 1,
  });
  const page = { 'x-console-page': '1', 'sec-fetch-site': 'same-origin' };
  const [, signedIn] = await send('/console/session', { key }, page);
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!;
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  const webhook = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
  return {
    key,
    kinds: kindsOf({ endpointId, idle, jobId, http, webhook, console: { ...page, cookie }, template }),
    stop: async () => {
      silent.close();
      await machine.stop();
    },
  };
}

interface Resources {
  endpointId: string;
  idle: string;
  /** A job of `idle` that has ended. */
  jobId: string;
  http: string;
  webhook: string;
  console: Record<string, string>;
  template: object;
}

function kindsOf({ endpointId, idle, jobId, http, webhook, console, template }: Resources): FloodKind[] {
  const aliases = Array.from({ length: 20 }, (_, n) => `a${n}: myself { endpoints { id name template { id } } }`);
  const query = JSON.stringify({ query: `{ ${aliases.join(' ')} }` });
  const job = (rest: string): string => `/v2/${idle}/${rest}`;
  const run = `{"input":${INPUT}}`;
  return [
    ['a busy processor, no requests', { method: 'GET', path: '', connections: 0 }],
    ['/run ×40', { method: 'POST', path: job('run'), body: run, connections: 40 }],
    ['/runsync ×40', { method: 'POST', path: `/v2/${endpointId}/runsync`, body: run, connections: 40 }],
    ['/run of 10 MB ×16', { method: 'POST', path: job('run'), bytes: 9_900_000, connections: 16 }],
    ['explain ×40', { method: 'GET', path: job(`explain/${jobId}`), connections: 40 }],
    ['requests ×40', { method: 'GET', path: job('requests'), connections: 40 }],
    ['ended streams ×400', { method: 'GET', path: job(`stream/${jobId}`), connections: 400 }],
    ['GraphQL of 20 aliases ×16', { method: 'POST', path: '/graphql', body: query, connections: 16 }],
    ['console feeds ×300', { method: 'GET', path: '/console/api/live', headers: console, connections: 300 }],
    ['requests without a worker ×2,500', { method: 'GET', path: `/v2/${http}/wait`, connections: 2_500 }],
    [
      'webhooks to a silent receiver ×16',
      {
        method: 'POST',
        path: `/v2/${endpointId}/run`,
        body: `{"input":${INPUT},"webhook":"${webhook}"}`,
        connections: 16,
      },
    ],
    ['lists ×40', { method: 'GET', path: '/v1/endpoints', connections: 40 }],
    ['lists of 5.8 MB ×8', { method: 'GET', path: '/v1/templates', connections: 8 }],
    [
      'new templates ×16',
      {
        method: 'POST',
        path: '/v1/templates',
        body: JSON.stringify({ ...template, name: 'new {n}' }),
        connections: 16,
      },
    ],
    [
      'bad keys ×40',
      {
        method: 'GET',
        path: job('health'),
        headers: { authorization: 'Bearer SLIPWAYNOSUCHKEY0000000000000000' },
        connections: 40,
      },
    ],
  ];
}
