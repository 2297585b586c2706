/** A child that sends one HTTP request over a number of connections for a while and tells how it went. */

import { serveParent } from '../child.ts';
import { HttpConnection } from './http-connection.ts';

/** What to send. */
export interface Load {
  /** `http://host:port/path`. */
  url: string;
  /** Other paths instead, in turn; connections begin at different ones. */
  paths?: string[];
  /** Default POST. */
  method?: string;
  headers: Record<string, string>;
  /** `{connection}` in it stands for the connection's number. */
  body: string;
  connections: number;
  seconds: number;
  /** Requests a second, evenly; those for which no connection is free are left out. Undefined: as fast as it goes. */
  perSecond?: number;
  /** Text that every body must contain. */
  expect: string;
}

/** How it went. */
export interface LoadResult {
  /** Answers a second. */
  rate: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
  answers: number;
}

/**
 * The requests that each connection sends in turn. With several paths all connections have the same ones, from another
 * on.
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

/** Sends what is due each millisecond, over the connections in turn. */
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
