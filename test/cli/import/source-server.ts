/** A source of an import: a local HTTP server with prepared answers that records every request. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

export interface SeenRequest {
  method: string;
  path: string;
  authorization: string;
  body: string;
}

/** Answers a request. */
export type Answerer = (seen: SeenRequest, response: ServerResponse) => void;

/** Starts a server that is stopped when the test ends. */
export async function startSource(t: Test, answer: Answerer) {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, authorization: headers.authorization ?? '', body };
      seen.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** Returns an answerer that passes everything on to another address. */
export function passingTo(target: string): Answerer {
  const { hostname, port } = new URL(target);
  return ({ method, path, authorization, body }, response) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const outgoing = forward({ hostname, port, method, path, headers }, (incoming) => {
      response.writeHead(incoming.statusCode!, incoming.headers);
      incoming.pipe(response);
    });
    outgoing.end(body);
  };
}

/** Writes a JSON answer. */
export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Returns an answerer of fixed bodies by path, without the query. Everything else is a problem with status 404. */
export function answersOf(bodies: Readonly<Record<string, unknown>>): Answerer {
  return ({ path }, response) => {
    const body = bodies[path.split('?')[0]!];
    if (body === undefined) sendJson(response, { title: 'Not Found', status: 404, detail: 'no such route' }, 404);
    else sendJson(response, body);
  };
}

/** Returns the requests that may have changed something. */
export function changesIn(seen: readonly SeenRequest[]): SeenRequest[] {
  return seen.filter(
    ({ method, path, body }) =>
      method !== 'GET' && !(method === 'POST' && path === '/graphql' && /^\{"query":"query \{/.test(body)),
  );
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}
