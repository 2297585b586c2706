/** A child that sends one HTTP request over a number of connections for a while and returns the result. */

import { serveParent } from '../child.ts';
import { HttpConnection } from './http-connection.ts';

/** Requests to send. */
export interface Load {
  /** Address, `http://host:port/path`. */
  url: string;
  /** Paths that are used in turn instead of the URL's. Connections begin at different ones. */
  paths?: string[];
  /** Default: POST. */
  method?: string;
  headers: Record<string, string>;
  /** Body. `{connection}` in it stands for the connection's number. */
  body: string;
  connections: number;
  seconds: number;
  /**
   * Requests a second, evenly spaced. A request is left out if no connection is free. `undefined` for as fast as
   * possible.
   */
  perSecond?: number;
  /** Text that every body must contain. */
  expect: string;
}

/** Result of a load. */
export interface LoadResult {
  /** Number of answers per second. */
  rate: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  answers: number;
}

/**
 * Returns the requests that each connection sends in turn. With several paths all connections have the same requests,
 * but each begins at a different one.
 */
function requestsOf(load: Load): Buffer[][] {
  const connections = Array.from({ length: load.connections }, (_, connection) => connection);
  if (!load.paths) return connections.map((connection) => [requestText(load, connection, new URL(load.url).pathname)]);
  const all = load.paths.map((path) => requestText(load, 0, path));
  return connections.map((connection) => {
    const from = Math.floor((all.length * connection) / load.connections);
    return [...all.slice(from), ...all.slice(0, from)];
  });
}

function requestText(load: Load, connection: number, pathname: string): Buffer {
  const body = load.body.replaceAll('{connection}', String(connection));
  const { host } = new URL(load.url);
  const headers = {
    host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...load.headers,
  };
  const lines = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return Buffer.from(`${load.method ?? 'POST'} ${pathname} HTTP/1.1\r\n${lines}\r\n${body}`);
}

/** Sends the requests that are due each millisecond, over the connections in turn. */
function paced(connections: readonly HttpConnection[], perSecond: number): NodeJS.Timeout {
  const startedAt = performance.now();
  let sent = 0;
  let turn = 0;
  return setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond);
    for (let tried = 0; tried < connections.length && sent < due; tried += 1) {
      const connection = connections[turn++ % connections.length]!;
      if (connection.busy) continue;
      connection.start();
      sent += 1;
    }
    sent = due;
  }, 1);
}

async function run(load: Load): Promise<LoadResult> {
  const { hostname, port } = new URL(load.url);
  const expect = Buffer.from(load.expect);
  const times: number[] = [];
  let wrong: string | undefined;
  const onAnswer = (status: number, ms: number, body: Buffer): void => {
    times.push(ms);
    if (status !== 200 || !body.includes(expect)) wrong ??= `${status} ${body.toString().slice(0, 300)}`;
  };
  const connections = requestsOf(load).map(
    (requests) => new HttpConnection(hostname, Number(port), requests, onAnswer, load.perSecond === undefined),
  );
  const startedAt = performance.now();
  const pace = load.perSecond === undefined ? undefined : paced(connections, load.perSecond);
  if (!pace) for (const connection of connections) connection.start();
  setTimeout(() => {
    clearInterval(pace);
    for (const connection of connections) connection.stop();
  }, load.seconds * 1_000);
  await Promise.all(connections.map((connection) => connection.closed));
  const elapsed = (performance.now() - startedAt) / 1_000;
  if (wrong !== undefined) throw new Error(`an answer was wrong: ${wrong}`);
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;
  return { rate: times.length / elapsed, p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), answers: times.length };
}

serveParent({}, { run });
