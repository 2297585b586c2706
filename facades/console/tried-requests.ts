/**
 * Sends test requests from the console to load-balancing endpoints. The page sends POST /console/api/lb/ID with the
 * method, path and headers in one header, and the body as it is. From there it is handled as a client's request to
 * /v2/ID with the session's key. The response is wrapped in a body: a line of JSON with the status and the headers,
 * then the bytes. So the browser never takes a worker's response for the console's own: no page, no script, no cookie,
 * no password prompt.
 */
import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Path after the console's prefix. */
const PATH = /^\/lb\/([A-Za-z0-9_-]{1,128})$/;
/** Must not be one of the header names that edges reserve (edge/envoy-config/http.ts). */
const REQUEST_HEADER = 'x-console-request';

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const PATH_FORM = /^\/[\x21\x22\x24-\x7e]{0,4095}$/;
const NAME_FORM = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const VALUE_FORM = /^[\t\x20-\x7e\x80-\xff]{0,4096}$/;
const HEADERS_MAX = 50;
/**
 * Headers that a test request must not set: they control the connection, identify the caller, or are reserved for our
 * own components.
 */
const NOT_TRIED = new RegExp(
  `^(${[
    'authorization',
    'connection',
    'content-length',
    'cookie',
    'expect',
    'host',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'proxy-.*',
    'x-forwarded-.*',
    'x-slipway-.*',
  ].join('|')})$`,
);
/** Headers of the page's own request that also hold for the test request. */
const OF_CONNECTION = /^(host|content-length|transfer-encoding|x-forwarded-.*|x-slipway-.*)$/;

/** Headers of the wrapper. With them a browser treats the body as bytes, never as content of the console's origin. */
const ANSWER_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/octet-stream',
  'content-disposition': 'attachment',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store, no-transform',
  'referrer-policy': 'no-referrer',
  'x-console-answer': '1',
};

/** Request that the page asks to send. */
interface Asked {
  method: string;
  path: string;
  headers: readonly (readonly [name: string, value: string])[];
}

export class TriedRequests {
  readonly #tried = new WeakSet<IncomingMessage>();

  /** Returns the endpoint that a path names. `undefined` if it names none. */
  endpointOf(path: string): string | undefined {
    return PATH.exec(path)?.[1];
  }

  /** Turns the page's request into a client's request and returns its path. `undefined` if it cannot be sent. */
  take(request: IncomingMessage, endpointId: string, apiKey: string): string | undefined {
    const asked = request.method === 'POST' ? askedOf(request.headers[REQUEST_HEADER]) : undefined;
    if (!asked) return undefined;
    const kept: [string, string][] = [];
    for (let at = 0; at + 1 < request.rawHeaders.length; at += 2) {
      const [name, value] = [request.rawHeaders[at]!, request.rawHeaders[at + 1]!];
      // A browser sends `content-length: 0` if there is no body. A GET must not have it.
      if (OF_CONNECTION.test(name.toLowerCase()) && !(/^content-length$/i.test(name) && value === '0'))
        kept.push([name, value]);
    }
    const all = [...kept, ...asked.headers, ['authorization', `Bearer ${apiKey}`] as const];
    request.method = asked.method;
    request.rawHeaders = all.flat();
    request.headers = joined(all);
    this.#tried.add(request);
    return `/v2/${endpointId}${asked.path}`;
  }

  /** Adds the hook that wraps responses. It must come before all hooks that respond. */
  addTo(app: FastifyInstance): void {
    app.addHook('onRequest', ({ raw }, reply, done) => {
      if (this.#tried.has(raw)) sendStatusInBody(reply.raw);
      done();
    });
  }
}

function askedOf(header: string | string[] | undefined): Asked | undefined {
  if (typeof header !== 'string') return undefined;
  let asked: Partial<Asked> | null;
  try {
    asked = JSON.parse(decodeURIComponent(header)) as Partial<Asked> | null;
  } catch {
    return undefined;
  }
  const { method, path, headers } = asked ?? {};
  if (typeof method !== 'string' || !METHODS.includes(method) || typeof path !== 'string' || !PATH_FORM.test(path))
    return undefined;
  if (!Array.isArray(headers) || headers.length > HEADERS_MAX || !headers.every(isHeader)) return undefined;
  return { method, path, headers };
}

function isHeader(pair: unknown): boolean {
  if (!Array.isArray(pair) || pair.length !== 2) return false;
  const [name, value] = pair as [unknown, unknown];
  if (typeof name !== 'string' || typeof value !== 'string' || !NAME_FORM.test(name) || !VALUE_FORM.test(value))
    return false;
  // Some programs treat an underscore as a dash.
  return !NOT_TRIED.test(name.toLowerCase().replaceAll('_', '-'));
}

/** Returns headers as Node does: names in lower case, repeated headers joined. */
function joined(pairs: readonly (readonly [string, string])[]): IncomingMessage['headers'] {
  const headers: Record<string, string> = {};
  for (const [name, value] of pairs) {
    const small = name.toLowerCase();
    headers[small] = headers[small] === undefined ? value : `${headers[small]}, ${value}`;
  }
  return headers;
}

/** Writes the reply's status and headers as the first line of its body. */
function sendStatusInBody(reply: ServerResponse): void {
  const writeHead = reply.writeHead.bind(reply) as (status: number, headers: OutgoingHttpHeaders) => ServerResponse;
  // Browsers would read informational responses directly.
  reply.writeInformation = () => undefined;
  const statusOnly = (status: number, ...rest: unknown[]): ServerResponse => {
    const [reason, given] = rest.length > 1 || typeof rest[0] === 'string' ? rest : [undefined, rest[0]];
    const headers = [
      ...pairsOf(reply.getHeaders()),
      ...pairsOf(given as OutgoingHttpHeaders | readonly OutgoingHttpHeader[] | undefined),
    ];
    for (const name of reply.getHeaderNames()) reply.removeHeader(name);
    // An unread body would be taken for the next request.
    const isLast = headers.some(
      ([name, value]) => name.toLowerCase() === 'connection' && value.toLowerCase() === 'close',
    );
    writeHead(200, {
      ...ANSWER_HEADERS,
      ...(isLast ? { connection: 'close' } : {}),
      ...(reply.useChunkedEncodingByDefault ? { 'transfer-encoding': 'chunked' } : {}),
    });
    reply.write(`${JSON.stringify({ status, reason: typeof reason === 'string' ? reason : '', headers })}\n`);
    // For logs and metrics.
    reply.statusCode = status;
    return reply;
  };
  reply.writeHead = statusOnly as ServerResponse['writeHead'];
}

/** Returns pairs of headers as `writeHead` takes them: an object, or a flat list of names and values. */
function pairsOf(headers: OutgoingHttpHeaders | readonly OutgoingHttpHeader[] | undefined): [string, string][] {
  if (headers === undefined) return [];
  const list = Array.isArray(headers)
    ? (headers as readonly OutgoingHttpHeader[])
    : Object.entries(headers).flatMap(([name, value]) => [name, value ?? '']);
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < list.length; at += 2) {
    for (const value of [list[at + 1]!].flat()) pairs.push([String(list[at]), String(value)]);
  }
  return pairs;
}
