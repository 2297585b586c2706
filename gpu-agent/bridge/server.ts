/**
 * The agent's local HTTP server for workers: the routes of docs/reference/worker-protocol.md#routes on the loopback
 * address and, where there are containers, on the address at which they reach the host.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { BaseService } from '@slipway/kit/lifecycle/service';
import { createServer } from '@slipway/kit/net/node-http';
import { delay } from '@slipway/kit/time/clock';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import Fastify from 'fastify';
import type { BridgeParts } from './bridge-parts.ts';
import { noteRequest } from './connection-use.ts';
import type { ConnectionBounds } from './connections.ts';
import { Connections } from './connections.ts';
import { registerDone } from './done-route.ts';
import type { IncomingFrames } from './link.ts';
import { acceptLinks, asksForLink } from './link.ts';
import { registerPing } from './ping-route.ts';
import { passBody, readBody } from './raw-body.ts';
import { registerStop } from './stop-route.ts';
import { registerStream } from './stream-route.ts';
import { registerTake } from './take-route.ts';
import type { CallParams } from './worker-call.ts';
import { isToken, workerOfCall } from './worker-call.ts';

/**
 * Time that an idle connection is kept, in milliseconds. It must outlast every client's own pool: the SDK does not
 * repeat a result whose connection the server closed at the same moment.
 */
const KEEP_ALIVE_MS = 3_600_000;
/**
 * Drain settings, in milliseconds: how long no request may have come, the interval of checks, and the longest drain. A
 * worker may be about to send something on a connection that it opened before.
 */
const QUIET_MS = 50;
const DRAIN_POLL_MS = 10;
const DRAIN_MS_MAX = 5_000;
const PREFIX = '/v2/:endpoint/:token';

export class Bridge extends BaseService {
  readonly name = 'bridge';
  readonly #options: { parts: BridgeParts; port: number };
  readonly #connections: Connections;
  #app: FastifyInstance | undefined;
  #url: string | undefined;
  readonly #arriving: IncomingFrames = { posts: 0, fresh: new Set() };
  /** Servers that listen for containers. */
  readonly #more: FastifyInstance[] = [];
  readonly #links = new Set<Duplex>();

  /** `bounds`: bounds on connections. Default: as many as the process can have. */
  constructor(options: { parts: BridgeParts; port: number; bounds?: ConnectionBounds }) {
    super();
    this.#options = options;
    this.#connections = new Connections(
      options.parts.logger,
      (id) => options.parts.pool.get(id)?.endpointId,
      options.bounds,
    );
  }

  /** URL of the bridge. Throws before it has started. */
  get url(): string {
    if (this.#url === undefined) throw new Error('the bridge has not started');
    return this.#url;
  }

  protected override async onStart(): Promise<void> {
    // Loopback only: every client of the bridge can return results.
    const app = this.#build();
    this.#app = app;
    await app.listen({ host: '127.0.0.1', port: this.#options.port });
    this.#url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  }

  /**
   * Listens at another address of this host, too. Tries the port at which workers of an earlier run expect the bridge,
   * then the same port as here, then any free port. Returns the port.
   */
  async listenAt(host: string, previousPort = 0): Promise<number> {
    for (const port of [previousPort, Number(new URL(this.url).port)].filter((known) => known !== 0)) {
      try {
        return await this.#listen(host, port);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
    return this.#listen(host, 0);
  }

  async #listen(host: string, port: number): Promise<number> {
    const app = this.#build();
    await app.listen({ host, port });
    this.#more.push(app);
    return (app.server.address() as AddressInfo).port;
  }

  /**
   * Waits for what workers have begun to send, when they outlive this agent and no new ones connect. Resolves to
   * true once everything was accepted, to false after five seconds: something may still be on its way.
   */
  async drain(): Promise<boolean> {
    const { clock } = this.#options.parts;
    const untilMs = clock.monotonicMs() + DRAIN_MS_MAX;
    for (let quietMs = 0; quietMs < QUIET_MS; quietMs += DRAIN_POLL_MS) {
      if (clock.monotonicMs() >= untilMs) return false;
      await delay(clock, DRAIN_POLL_MS);
      if (this.#arriving.posts + this.#arriving.fresh.size > 0) quietMs = 0;
    }
    return true;
  }

  #build(): FastifyInstance {
    const app = buildApp(this.#options.parts, this.#arriving, this.#connections);
    acceptLinks(app.server, this.#options.parts, {
      links: this.#links,
      arriving: this.#arriving,
      connections: this.#connections,
    });
    return app;
  }

  protected override async onStop(): Promise<void> {
    for (const link of this.#links) link.destroy();
    await Promise.all([this.#app, ...this.#more.splice(0)].flatMap((app) => (app ? [app.close()] : [])));
  }
}

/**
 * Replaces the compilers of schemas. The bridge's routes have no schemas, so the compilers need not be loaded, which
 * would take a tenth of an agent's start.
 */
function noSchemas(): never {
  throw new Error('no route of the bridge has a schema');
}

function buildApp(parts: BridgeParts, arriving: IncomingFrames, connections: Connections): FastifyInstance {
  const app = Fastify({
    logger: false,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 512 },
    serverFactory: (handle) => {
      // A client that offers another protocol, for instance HTTP/2, is answered in this one.
      const server = createServer({ shouldUpgradeCallback: asksForLink }, (request, response) => {
        if (connections.admits(request, response)) handle(request, response);
      });
      server.keepAliveTimeout = KEEP_ALIVE_MS;
      // No limit. The one on headers stays: a client that begins a request already has all of its headers.
      server.requestTimeout = 0;
      return server;
    },
  });
  app.server.on('connection', (socket: Socket) => {
    connections.add(socket);
    arriving.fresh.add(socket);
    socket.once('close', () => arriving.fresh.delete(socket));
  });
  parts.countCalls?.(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) => {
    const worker = workerOfCall(parts, request);
    return typeof worker === 'string'
      ? passBody(payload)
      : readBody(payload, replies.get(payload)!, parts.bodies, worker.id);
  });
  // The body parser gets no reply.
  const replies = new WeakMap<IncomingMessage, ServerResponse>();
  app.addHook('onRequest', async (request, reply) => {
    replies.set(request.raw, reply.raw);
    arriving.fresh.delete(request.raw.socket);
    noteRequest(request.raw.socket);
    // Data that a worker sends on a connection that ended with its agent is lost: SDKs do not resend, and do not check
    // the connection while their handler computes.
    const { worker: workerId = '', token = '' } = request.params as Partial<CallParams>;
    const worker = parts.pool.get(workerId);
    if (worker?.outlives) reply.raw.setHeader('connection', 'close');
    if (worker && !worker.hasEnded && isToken(token, worker)) connections.own(request.raw.socket, workerId);
    // Only the body's presence matters: a content type that Fastify cannot read must not cost a result.
    if (request.method !== 'POST') return;
    request.raw.headers['content-type'] = 'application/octet-stream';
    arriving.posts += 1;
    reply.raw.once('close', () => {
      arriving.posts -= 1;
    });
  });
  app.setErrorHandler(async (error, request, reply) => {
    // 5xx makes the SDK try again; a 4xx would lose a result (docs/reference/worker-protocol.md#results).
    const { worker: workerId, job: jobId } = request.params as Partial<CallParams>;
    const { url } = request.routeOptions;
    const attempt = parts.holdings.get(workerId ?? '')?.of(jobId ?? '')?.ref.attempt;
    const ids = { endpointId: parts.pool.get(workerId ?? '')?.endpointId, jobId, attempt, workerId };
    // A client that leaves gets no answer. It could fill the disk with log lines, so this is only logged for debugging.
    if (request.raw.socket.destroyed)
      parts.logger.debug({ err: error, url, ...ids }, 'a worker left before its call was answered');
    else parts.logger.error({ err: error, url, ...ids }, 'bridge request failed');
    return reply.code(500).send();
  });
  registerTake(app, PREFIX, parts);
  registerStop(app, PREFIX, parts);
  registerPing(app, PREFIX, parts);
  registerDone(app, PREFIX, parts);
  registerStream(app, PREFIX, parts);
  return app;
}
