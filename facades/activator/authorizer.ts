/**
 * Decides for an edge, before it reads a body, what to do with a request to a load-balancing endpoint: route it
 * directly to a worker, reject it, or pass it to a facade unchanged. Only plain requests are routed directly: a worker
 * is ready, the client prefers none, the query holds no key, and no WebSocket is requested. The activator handles all
 * others. Runs beside each Envoy (facades/edge-authorizer.ts), and in facades for Envoys without one.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { EdgeKeys } from '@slipway/kit/host/edge-keys';
import type { Logger } from '@slipway/kit/log/logger';
import type { Activation } from '@slipway/kit/net/activation';
import { ACTIVATION_HEADER, activationText } from '@slipway/kit/net/activation';
import type { AuthorizerSettings } from '@slipway/kit/net/edge-authorizer';
import {
  AUTHORIZE_PATH,
  AUTHORIZER_SETTINGS_PATH,
  CLUSTER_HEADER,
  clusterName,
  EDGE_KEY_HEADER,
  PATH_HEADER,
  TIMEOUT_HEADER,
} from '@slipway/kit/net/edge-authorizer';
import { cookieValues, KEY_COOKIE } from '@slipway/kit/net/own-cookies';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import type { GateParts } from '../plugins/authenticate.ts';
import { isPreflight } from '../plugins/cors.ts';
import type { KeyWatch } from '../plugins/limits/key-watch.ts';
import type { AuthenticatedCaller } from './authenticate-caller.ts';
import { authenticateCaller } from './authenticate-caller.ts';
import { CLIENT_GONE } from './client-gone.ts';
import { toLbError, unauthorized } from './lb-error.ts';
import { WORKER_HEADER } from './lb-headers.ts';
import type { LbTarget } from './lb-target.ts';
import { lbTarget } from './lb-target.ts';
import type { LoadBalancer } from './load-balancer.ts';
import { podOfHost } from './pod-target.ts';
import { writeRejection } from './write-rejection.ts';

/**
 * Longest wait for core to check a key, in milliseconds: less than an edge waits for an answer
 * (edge/envoy-config/limits.ts).
 */
const AUTHENTICATE_MS = 2_000;
const GRPC = /^application\/grpc\b/i;
/** Most endpoints whose activation header is cached. Every request needs it, and it does not change. */
const ACTIVATIONS_MAX = 5_000;
/** A path that is valid in a header. */
const PLAIN_PATH = /^\/[\x21-\x7e]*$/;

interface AuthorizerParts {
  loadBalancer: LoadBalancer;
  gate: GateParts;
  keys: KeyWatch;
  settings: AuthorizerSettings;
  /** Keys by which edges authenticate. */
  edgeKeys: EdgeKeys;
  clock: Clock;
  logger: Logger;
}

export class Authorizer {
  readonly #parts: AuthorizerParts;
  readonly #expected: readonly Buffer[];
  readonly #activations = boundedCache<string, string>(ACTIVATIONS_MAX);

  constructor(parts: AuthorizerParts) {
    this.#parts = parts;
    this.#expected = parts.edgeKeys.map(sha256);
  }

  /** Returns whether the request is an authenticated question of an edge. */
  handles({ url = '', headers }: IncomingMessage): boolean {
    const key = headers[EDGE_KEY_HEADER];
    return (
      typeof key === 'string' &&
      (url.startsWith(`${AUTHORIZE_PATH}/`) || url === AUTHORIZER_SETTINGS_PATH) &&
      this.#expected.some((expected) => timingSafeEqual(sha256(key), expected))
    );
  }

  /** Responds to an authorization request of an edge. Never rejects. */
  async answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    const { url = '' } = request;
    if (url === AUTHORIZER_SETTINGS_PATH) return void reply.writeHead(200).end(JSON.stringify(this.#parts.settings));
    request.url = url.slice(AUTHORIZE_PATH.length);
    try {
      reply.writeHead(200, { ...(await this.#direct(request)), 'content-length': 0 }).end();
    } catch (error) {
      // The edge takes 5xx for a fault of the authorizer. It passes the request to a facade, which answers with the
      // error itself.
      if (toLbError(error).status >= 500 || isFacades(error, request))
        reply.writeHead(200, { 'content-length': 0 }).end();
      else writeRejection(error, request, reply, this.#parts.logger);
    }
  }

  /** Returns the headers that route the request directly to a worker. `undefined` if it goes to a facade. */
  async #direct(request: IncomingMessage): Promise<OutgoingHttpHeaders | undefined> {
    const {
      loadBalancer,
      gate,
      settings: { domains, podDomains, processingMs },
    } = this.#parts;
    if (podOfHost(request, podDomains)) return undefined;
    const target = lbTarget(request, domains);
    // An edge cannot end a WebSocket whose key was revoked. Facades forward them and check keys again.
    if (!target || request.headers.upgrade !== undefined) return undefined;
    if (isPreflight(request) && target.queryKey === undefined) return undefined;
    if (
      target.prefix === '' &&
      request.headers.authorization === undefined &&
      cookieValues(request.headers.cookie, KEY_COOKIE).length > 0
    )
      return undefined;
    const who = await this.#withTimeout(authenticateCaller(request, target, gate));
    if (!who || !isPlain(target) || request.headers[WORKER_HEADER] !== undefined) return undefined;
    if (!(await this.#isReady(request, target, who))) return undefined;
    // The edge bounds concurrency itself.
    await gate.rateLimit?.admit(who.limited);
    const { headers } = request;
    const { endpointId } = target;
    return {
      [CLUSTER_HEADER]: clusterName(endpointId),
      [PATH_HEADER]: target.path.split('?', 1)[0]!,
      // An edge that does not know the endpoint yet passes the request to a facade. Facades cannot forward to workers
      // that speak gRPC.
      ...(loadBalancer.carries(endpointId)
        ? { [ACTIVATION_HEADER]: this.#activationOf({ endpointId, accountId: who.accountId }) }
        : {}),
      'x-forwarded-host': headers['x-forwarded-host'] ?? headers.host,
      ...(target.prefix === '' ? {} : { 'x-forwarded-prefix': target.prefix }),
      [TIMEOUT_HEADER]: processingMs,
    };
  }

  /**
   * Returns `undefined` if core does not answer in time. A facade that has the key in its cache then authorizes the
   * request.
   */
  async #withTimeout<Value>(answer: Promise<Value>): Promise<Value | undefined> {
    const done = new AbortController();
    try {
      return await Promise.race([answer, delay(this.#parts.clock, AUTHENTICATE_MS, done.signal).then(() => undefined)]);
    } finally {
      done.abort();
    }
  }

  /** Returns whether a worker is ready. A gRPC call waits here, because no facade can forward it. */
  async #isReady(
    { headers, socket }: IncomingMessage,
    { endpointId }: LbTarget,
    who: AuthenticatedCaller,
  ): Promise<boolean> {
    const {
      loadBalancer,
      keys,
      settings: { holdMs: waitMs },
    } = this.#parts;
    if (loadBalancer.hasReadyWorker(endpointId, who)) return true;
    await loadBalancer.synced(endpointId);
    if (loadBalancer.hasReadyWorker(endpointId, who)) return true;
    if (!GRPC.test(headers['content-type'] ?? '')) return false;
    if (socket.destroyed) return false;
    const gone = new AbortController();
    const leave = (): void => gone.abort(CLIENT_GONE);
    let isRevoked = false;
    const unwatch = keys.access(who.question)(() => {
      isRevoked = true;
      leave();
    });
    socket.once('close', leave);
    try {
      await loadBalancer.awaitReady(endpointId, who, { waitMs, signal: gone.signal });
    } catch (error) {
      throw isRevoked ? unauthorized('invalid api key') : error;
    } finally {
      unwatch();
      socket.off('close', leave);
    }
    return loadBalancer.hasReadyWorker(endpointId, who);
  }

  #activationOf(activation: Activation): string {
    const name = `${activation.endpointId}.${activation.accountId}`;
    const text = this.#activations.get(name) ?? activationText(this.#parts.edgeKeys[0]!, activation);
    this.#activations.set(name, text);
    return text;
  }
}

/** Adds the authorizer to a facade's app, before other hooks. Does nothing if there is no edge key. */
export function addAuthorizer(app: FastifyInstance, parts: AuthorizerParts): void {
  if (parts.edgeKeys.length === 0) return;
  const authorizer = new Authorizer(parts);
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!authorizer.handles(raw)) return done();
    reply.hijack();
    void authorizer.answer(raw, reply.raw);
  });
}

/**
 * Returns whether a facade is to reject the request instead of the authorizer. An edge answers before the body has
 * arrived. A client that sends everything before it reads does not see that answer; a facade reads the body first. Rate
 * limits that counted here are also rejected here, and so is gRPC, which no facade answers.
 */
function isFacades(error: unknown, { method, headers }: IncomingMessage): boolean {
  if (/^(GET|HEAD|OPTIONS)$/.test(method ?? '') || GRPC.test(headers['content-type'] ?? '')) return false;
  return [401, 404].includes(toLbError(error).status);
}

function isPlain({ path, queryKey }: LbTarget): boolean {
  return queryKey === undefined && PLAIN_PATH.test(path);
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
