/**
 * Answers an edge that asks, before it reads any body, what to do with a request to a load-balancing endpoint: send it straight to a worker, refuse it,
 * or leave it to a facade as it is. Only what is the same every time goes straight: a worker is ready, the client insists on none, there is nothing
 * to be cut out of the query, and no WebSocket is asked for. All else is the activator's. It runs beside each Envoy (facades/edge-authorizer.ts), and in
 * facades for Envoys without.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { boundedCache } from '../../core/runtime/bounded-cache.ts';
import { delay } from '../../core/runtime/clock.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import { ACTIVATION_HEADER, activationText } from '../../proto/wire/activation.ts';
import type { Activation } from '../../proto/wire/activation.ts';
import {
  AUTHORIZE_PATH, AUTHORIZER_SETTINGS_PATH, CLUSTER_HEADER, clusterName, EDGE_KEY_HEADER, PATH_HEADER, TIMEOUT_HEADER,
} from '../../proto/wire/edge-authorizer.ts';
import type { AuthorizerSettings } from '../../proto/wire/edge-authorizer.ts';
import { cookieValues, KEY_COOKIE } from '../../proto/wire/own-cookies.ts';
import { isPreflight } from '../plugins/cors.ts';
import type { GateParts } from '../plugins/authenticate.ts';
import type { KeyWatch } from '../plugins/key-watch.ts';
import { identify } from './admit.ts';
import type { Identified } from './admit.ts';
import { notAllowed, toLbError } from './lb-error.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import { lbTarget } from './lb-target.ts';
import type { LbTarget } from './lb-target.ts';
import type { Places } from './places.ts';
import { podOfHost } from './pod-target.ts';
import { writeRefusal } from './write-refusal.ts';

/** How long core is waited for about a key that is not known here, in milliseconds: less than an edge waits for an answer (deploy/envoy/limits.ts). */
const IDENTIFY_MS = 2_000;
const GRPC = /^application\/grpc\b/i;
/** Endpoints whose activation is kept, as each request needs it, and it is always the same. */
const ACTIVATIONS_MAX = 5_000;
/** What a path may hold to stand in a header. */
const PLAIN_PATH = /^\/[\x21-\x7e]*$/;

/** What it needs. */
export interface AuthorizerParts {
  places: Places;
  gate: GateParts;
  keys: KeyWatch;
  /** What decides besides keys and workers. */
  settings: AuthorizerSettings;
  /** Whoever has it is answered. */
  edgeKey: string;
  clock: Clock;
  logger: Logger;
}

export class Authorizer {
  readonly #parts: AuthorizerParts;
  readonly #expected: Buffer;
  readonly #activations = boundedCache<string, string>(ACTIVATIONS_MAX);

  constructor(parts: AuthorizerParts) {
    this.#parts = parts;
    this.#expected = sha256(parts.edgeKey);
  }

  /** Whether an edge asks it something. */
  isAsked({ url = '', headers }: IncomingMessage): boolean {
    const key = headers[EDGE_KEY_HEADER];
    return typeof key === 'string' && (url.startsWith(`${AUTHORIZE_PATH}/`) || url === AUTHORIZER_SETTINGS_PATH)
      && timingSafeEqual(sha256(key), this.#expected);
  }

  /** Answers what it is asked. Never rejects. */
  async answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { url = '' } = request;
    if (url === AUTHORIZER_SETTINGS_PATH) return void reply.writeHead(200).end(JSON.stringify(this.#parts.settings));
    request.url = url.slice(AUTHORIZE_PATH.length);
    try {
      reply.writeHead(200, { ...await this.#direct(request), 'content-length': 0 }).end();
    } catch (error) {
      // The edge takes 5xx for a fault of the authorizer; the facade says it in its own words when the request comes.
      if (toLbError(error).status >= 500) reply.writeHead(200, { 'content-length': 0 }).end();
      else writeRefusal(error, request, reply, this.#parts.logger);
    }
  }

  /** What sends the request straight to a worker; undefined: nothing does. */
  async #direct(request: IncomingMessage): Promise<OutgoingHttpHeaders | undefined> {
    const { places, gate, settings: { domains, podDomains, processingMs } } = this.#parts;
    if (podOfHost(request, podDomains)) return undefined;
    const target = lbTarget(request, domains);
    // Nobody could end a WebSocket of the edge's own when its key is revoked: facades carry them, and check keys again.
    if (!target || request.headers.upgrade !== undefined) return undefined;
    if (isPreflight(request) && target.queryKey === undefined) return undefined;
    if (target.prefix === '' && request.headers.authorization === undefined && cookieValues(request.headers.cookie, KEY_COOKIE).length > 0) return undefined;
    const who = await this.#soon(identify(request, target, gate));
    if (!who || !isPlain(target) || request.headers[WORKER_HEADER] !== undefined) return undefined;
    if (!await this.#isReady(request, target, who)) return undefined;
    // How many there are at a time is the edge's to see and to bound.
    await gate.rateLimit?.admit(who.limited);
    const { headers } = request;
    const { endpointId } = target;
    return {
      [CLUSTER_HEADER]: clusterName(endpointId),
      [PATH_HEADER]: target.path.split('?', 1)[0]!,
      // An edge that knows nothing of the endpoint yet brings it back to a facade. Nobody there speaks with workers of gRPC.
      ...(places.carries(endpointId) ? { [ACTIVATION_HEADER]: this.#activationOf({ endpointId, accountId: who.accountId }) } : {}),
      'x-forwarded-host': headers['x-forwarded-host'] ?? headers.host,
      ...(target.prefix === '' ? {} : { 'x-forwarded-prefix': target.prefix }),
      [TIMEOUT_HEADER]: processingMs,
    };
  }

  /** Undefined when core does not answer: a facade that knows the key already lets the request in. */
  async #soon<Value>(answer: Promise<Value>): Promise<Value | undefined> {
    const over = new AbortController();
    try {
      return await Promise.race([answer, delay(this.#parts.clock, IDENTIFY_MS, over.signal).then(() => undefined)]);
    } finally {
      over.abort();
    }
  }

  /** A call by gRPC waits here, unread: no facade could carry it. */
  async #isReady({ headers, socket }: IncomingMessage, { endpointId }: LbTarget, who: Identified): Promise<boolean> {
    const { places, keys, settings: { holdMs: waitMs } } = this.#parts;
    if (places.hasReadyWorker(endpointId, who)) return true;
    await places.told(endpointId);
    if (places.hasReadyWorker(endpointId, who)) return true;
    if (!GRPC.test(headers['content-type'] ?? '')) return false;
    if (socket.destroyed) return false;
    const gone = new AbortController();
    const leave = (): void => gone.abort();
    let isRevoked = false;
    const unwatch = keys.access(who.question)(() => {
      isRevoked = true;
      leave();
    });
    socket.once('close', leave);
    try {
      await places.awaitReady(endpointId, who, { waitMs, signal: gone.signal });
    } catch (error) {
      throw isRevoked ? notAllowed('invalid api key') : error;
    } finally {
      unwatch();
      socket.off('close', leave);
    }
    return places.hasReadyWorker(endpointId, who);
  }

  #activationOf(activation: Activation): string {
    const name = `${activation.endpointId}.${activation.accountId}`;
    const text = this.#activations.get(name) ?? activationText(this.#parts.edgeKey, activation);
    this.#activations.set(name, text);
    return text;
  }
}

/** Adds it to a facade's app, before its other hooks: it is asked for every request. Without the edges' key nobody is answered. */
export function addAuthorizer(app: FastifyInstance, parts: AuthorizerParts): void {
  if (parts.edgeKey === '') return;
  const authorizer = new Authorizer(parts);
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!authorizer.isAsked(raw)) return done();
    reply.hijack();
    void authorizer.answer(raw, reply.raw);
  });
}

function isPlain({ path, queryKey }: LbTarget): boolean {
  return queryKey === undefined && PLAIN_PATH.test(path);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
