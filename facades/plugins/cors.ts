/**
 * Handles CORS (https://fetch.spec.whatwg.org/#http-cors-protocol). The queue API allows the origins that the
 * operator has configured. Preflights of load-balancing endpoints are answered here, the same for every endpoint; the
 * headers of the worker decide who may read its responses.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';

/** Preflights per address in 10 s, and seconds for which a browser may cache a response. */
const PREFLIGHTS_MAX = 2_000;
const REMEMBERED_SECONDS = 600;
/** Response headers that pages may read besides the safelisted ones. */
const EXPOSED = 'Retry-After, X-Request-Id, X-Job-Status';
/** Valid values of the request headers of a preflight. */
const METHOD = /^[A-Za-z-]{1,32}$/;
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]{0,4000}$/;
const QUEUE_PATH = /^\/+(v2\/+[^/?#]|openai\/)/;

/** Origins that may use the queue API: exact origins, or `*` for all. */
type CorsOrigins = readonly string[];

/** Returns whether a request is a CORS preflight. */
export function isPreflight({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined &&
    headers.authorization === undefined
  );
}

/** Responds to CORS preflights without a call of core or a worker. */
export class Preflights {
  // The library removes an address when its window ends.
  readonly #window = new RateLimiterMemory({ points: PREFLIGHTS_MAX, duration: REQUEST_WINDOW_SECONDS });

  /** Ends the response. `origin`: origin that is allowed. `address`: address of the client. */
  async answer({ headers }: IncomingMessage, reply: ServerResponse, origin: string, address: string): Promise<void> {
    const isOver = await this.#window.consume(address).then(
      () => false,
      () => true,
    );
    if (isOver)
      return void reply.writeHead(429, { 'retry-after': String(REQUEST_WINDOW_SECONDS), 'content-length': '0' }).end();
    const { 'access-control-request-method': method, 'access-control-request-headers': names } = headers;
    reply
      .writeHead(204, {
        'access-control-allow-origin': origin,
        ...(METHOD.test(method ?? '') ? { 'access-control-allow-methods': method } : {}),
        ...(names !== undefined && HEADER_NAMES.test(names) ? { 'access-control-allow-headers': names } : {}),
        'access-control-max-age': String(REMEMBERED_SECONDS),
        vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
      })
      .end();
  }
}

interface CorsParts {
  preflights: Preflights;
  /** Returns the client's address. */
  peers: { clientOf(request: IncomingMessage): string };
}

/** Adds CORS of the queue API to an app, after the hooks of load balancing. */
export function addQueueCors(app: FastifyInstance, origins: CorsOrigins, { preflights, peers }: CorsParts): void {
  if (origins.length === 0) return;
  const isAny = origins.includes('*');
  app.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    const { raw } = request;
    const { origin } = raw.headers;
    if (!QUEUE_PATH.test(raw.url ?? '')) return done();
    // A cache must not serve the response for one origin to another.
    if (!isAny) reply.raw.setHeader('vary', 'Origin');
    if (origin === undefined || !(isAny || origins.includes(origin))) return done();
    const allowed = isAny ? '*' : origin;
    if (isPreflight(raw)) {
      reply.hijack();
      return void preflights.answer(raw, reply.raw, allowed, peers.clientOf(raw));
    }
    reply.raw.setHeader('access-control-allow-origin', allowed);
    reply.raw.setHeader('access-control-expose-headers', EXPOSED);
    done();
  });
}

/** Allows all pages to read one of our errors: it contains nothing of the worker. */
export function allowAnyOrigin({ headers }: IncomingMessage, reply: ServerResponse): void {
  if (headers.origin === undefined) return;
  reply.setHeader('access-control-allow-origin', '*');
  reply.setHeader('access-control-expose-headers', EXPOSED);
}
