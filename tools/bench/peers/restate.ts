/**
 * Restate: invocations of a service, kept in its own log. A service has one address, so each worker is a service of its
 * own, and they are called in turn.
 */

import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Pool } from 'undici';
import { loadPeer } from './install.ts';
import type { Peer, PeerContext, PeerHandler, PeerQueue } from './peer.ts';

interface Sdk {
  service(options: { name: string; handlers: Record<string, () => Promise<object>> }): object;
  createEndpointHandler(options: {
    services: object[];
    logger: () => void;
  }): (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

/** Connections of callers to Restate: as many as the race has to the server. */
const CONNECTIONS = 256;
const JSON_HEADERS = { 'content-type': 'application/json' };

/** Returns a pool of connections. `store`: the folder with Restate's sockets. */
function poolOf(store: string, name: 'admin' | 'ingress'): Pool {
  return new Pool('http://localhost', { socketPath: join(store, `${name}.sock`), connections: CONNECTIONS });
}

async function ask<Answer>(pool: Pool, method: 'GET' | 'POST', path: string, body?: object): Promise<Answer> {
  const answer = await pool.request({
    method,
    path,
    ...(body && { headers: JSON_HEADERS, body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`Restate: ${answer.statusCode} ${text}`);
  return JSON.parse(text) as Answer;
}

export const restate: Peer = {
  settings: `one node as it comes, ${CONNECTIONS} connections to it, a service for each worker`,
  async openQueue({ store }: PeerContext): Promise<PeerQueue> {
    const ingress = poolOf(store, 'ingress');
    const admin = poolOf(store, 'admin');
    let names: string[] = [];
    let turn = 0;
    /** Returns the next worker's name. Workers start after the server, so the first request looks them up. */
    const next = async (): Promise<string> => {
      if (names.length === 0)
        names = (await ask<{ services: { name: string }[] }>(admin, 'GET', '/services')).services.map(
          ({ name }) => name,
        );
      return names[(turn += 1) % names.length]!;
    };
    const unused = async (): Promise<never> => {
      throw new Error('Restate keeps no queue for workers that are not there');
    };
    return {
      submit: async (input) =>
        (await ask<{ invocationId: string }>(ingress, 'POST', `/${await next()}/run/send`, input)).invocationId,
      submitAndWait: async (input) => ask(ingress, 'POST', `/${await next()}/run`, input),
      fill: unused,
      done: unused,
    };
  },
  async startWorker({ store }: PeerContext, handler: PeerHandler): Promise<void> {
    const sdk = loadPeer<Sdk>('@restatedev/restate-sdk');
    const service = sdk.service({ name: `worker_${process.pid}`, handlers: { run: () => handler() } });
    const server = createServer(sdk.createEndpointHandler({ services: [service], logger: () => undefined }));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    await ask(poolOf(store, 'admin'), 'POST', '/deployments', {
      uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
  },
};
