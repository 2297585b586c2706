/**
 * The authorizer that runs beside an Envoy, in the edge's own process. Core decides which keys are authorized. Its
 * results for live keys remain valid while core is unavailable, and requests that go directly to workers need no
 * facade. All other settings come from the facades. Until a facade has sent them and core was reached once, the
 * authorizer is not ready, and Envoy asks facades instead.
 */
import { rmSync } from 'node:fs';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Loop } from '@slipway/kit/lifecycle/loop';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import type { AuthorizerSettings } from '@slipway/kit/net/edge-authorizer';
import { AUTHORIZER_READY_PATH, AUTHORIZER_SETTINGS_PATH, EDGE_KEY_HEADER } from '@slipway/kit/net/edge-authorizer';
import { createServer, getText } from '@slipway/kit/net/node-http';
import type { TlsSource } from '@slipway/kit/net/tls-source';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { within } from '@slipway/kit/time/clock';
import { AccessServiceClient } from '@slipway/proto/gen/slipway/v1/access_service';
import { HTTP_HEADER_BYTES_MAX, HTTP_KEEP_ALIVE_MS } from '@slipway/proto/wire/limits';
import { Authorizer } from './activator/authorizer.ts';
import { LoadBalancer, WAIT_BOUNDS } from './activator/load-balancer.ts';
import { EndpointSetLink } from './core-client/endpoint-set-link.ts';
import { Readiness } from './core-client/readiness.ts';
import { RejectionReporter } from './core-client/rejection-reporter.ts';
import { replicaAddresses, replicaList } from './core-client/replica-parts.ts';
import { ServiceCalls } from './core-client/service-calls.ts';
import { rejectBrokenRequest } from './plugins/errors/broken-request.ts';
import { AccessCache } from './plugins/limits/access-cache.ts';
import { KeyWatch } from './plugins/limits/key-watch.ts';
import { RateLimit } from './plugins/limits/rate-limit.ts';

/** Interval of requests for the facades' settings, in milliseconds: before the first response, and after it. */
const ASK_FIRST_MS = 250;
const ASK_AGAIN_MS = 10_000;
const ANSWER_MS = 3_000;

interface EdgeAuthorizerOptions {
  /** Unix socket on which Envoy asks it. */
  socketFile: string;
  /** Addresses: host:port, of core also grpcs://host:port. */
  cores: readonly string[];
  /** Trust of cores that are reached by TLS. */
  tls: TlsSource | undefined;
  facades: readonly string[];
  edgeKey: string;
  /** Time without a byte after which Envoy ends a request, in milliseconds. */
  silenceMs: number;
  transport: Transport;
  clock: Clock;
  random: Random;
  logger: Logger;
}

export class EdgeAuthorizer extends SingleRunService {
  readonly name = 'authorizer';
  readonly #options: EdgeAuthorizerOptions;
  readonly #calls: ServiceCalls<AccessServiceClient>;
  readonly #access: AccessCache;
  readonly #keys: KeyWatch;
  readonly #loadBalancer: LoadBalancer;
  readonly #reporter: RejectionReporter;
  readonly #core: Readiness;
  readonly #services: Service[];
  readonly #server: Server;
  #authorizer: Authorizer | undefined;
  #settings = '';
  #askedAtMs = -Infinity;
  /** Whether core has answered once. From then on this process knows as much as facades do. */
  #wasUp = false;

  constructor(options: EdgeAuthorizerOptions) {
    super();
    this.#options = options;
    const { cores: configured, tls, edgeKey, transport, clock, random, logger } = options;
    const list = replicaList({ configured, tls, transport, clock, random, logger });
    const replicas = { ...replicaAddresses(list), tls, transport, clock, random };
    this.#calls = new ServiceCalls(AccessServiceClient, replicas);
    this.#access = new AccessCache(
      ({ apiKey, ...request }) =>
        this.#calls.call((client) => client.checkAccess, request, { apiKey, repeatable: true }),
      clock,
    );
    this.#keys = new KeyWatch(this.#access, clock);
    const link = new EndpointSetLink({ ...replicas, edgeKey, logger });
    this.#core = new Readiness(replicas);
    this.#loadBalancer = new LoadBalancer({ link, waits: WAIT_BOUNDS, clock, logger });
    const asking = new Loop({
      name: 'readiness',
      periodMs: ASK_FIRST_MS,
      pass: () => this.#ask(),
      clock,
      random,
      logger,
    });
    this.#reporter = new RejectionReporter({ ...replicas, logger });
    this.#services = [list, link, this.#loadBalancer, this.#reporter, asking];
    // Envoy's requests have headers of their own besides the client's.
    this.#server = createServer(
      { maxHeaderSize: 2 * HTTP_HEADER_BYTES_MAX, keepAliveTimeout: HTTP_KEEP_ALIVE_MS },
      (request, reply) => {
        void this.#answer(request, reply);
      },
    );
    // Envoy passes this response to its client.
    this.#server.on('clientError', (error, socket) => rejectBrokenRequest(error, socket as Socket, clock));
  }

  protected override async onStart(): Promise<void> {
    const { socketFile, logger } = this.#options;
    // Left by a killed process. An edge that replaces another has its own socket.
    rmSync(socketFile, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(socketFile, resolve);
    });
    await startAll(this.#services, logger, this.ending);
  }

  protected override async onStop(): Promise<void> {
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    await stopAll(this.#services, this.#options.logger);
    this.#calls.close();
    this.#core.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    reply.on('error', () => undefined);
    const authorizer = this.#wasUp ? this.#authorizer : undefined;
    if (request.url === AUTHORIZER_READY_PATH) return void reply.writeHead(authorizer ? 200 : 503).end();
    if (authorizer?.handles(request)) return authorizer.answer(request, reply);
    reply.writeHead(authorizer ? 404 : 503).end();
  }

  async #ask(): Promise<void> {
    this.#wasUp ||= await this.#core.ready();
    const { facades, edgeKey, clock, logger } = this.#options;
    if (clock.monotonicMs() - this.#askedAtMs < ASK_AGAIN_MS) return;
    for (const facade of facades) {
      const text = await within(clock, ANSWER_MS, this.ending, (signal) => askFacade(facade, edgeKey, signal)).catch(
        () => undefined,
      );
      if (text === undefined) continue;
      this.#askedAtMs = clock.monotonicMs();
      if (text === this.#settings) return;
      const settings = JSON.parse(text) as AuthorizerSettings;
      const rateLimit = settings.perWorker
        ? new RateLimit(settings.perWorker, clock, { reporter: this.#reporter })
        : undefined;
      this.#settings = text;
      this.#warnOfShortSilence(settings);
      const gate = { access: this.#access, rateLimit };
      this.#authorizer = new Authorizer({
        loadBalancer: this.#loadBalancer,
        gate,
        keys: this.#keys,
        settings,
        edgeKeys: [edgeKey],
        clock,
        logger,
      });
      return;
    }
  }

  /** Logs a warning if facades let requests wait or run for as long as Envoy, which would end them first. */
  #warnOfShortSilence({ holdMs, processingMs }: AuthorizerSettings): void {
    const { silenceMs, logger } = this.#options;
    if (Math.max(holdMs, processingMs) < silenceMs) return;
    logger.warn(
      { holdMs, processingMs, silenceMs },
      'the edge ends requests before facades do: lower SLIPWAY_LB_HOLD_MS and SLIPWAY_LB_PROCESSING_MS there',
    );
  }
}

/** Returns the facade's settings, `undefined` if it does not send them. Rejects if it is unavailable. */
async function askFacade(address: string, edgeKey: string, signal: AbortSignal): Promise<string | undefined> {
  const { status, text } = await getText(
    `http://${address}${AUTHORIZER_SETTINGS_PATH}`,
    { [EDGE_KEY_HEADER]: edgeKey },
    signal,
  );
  return status === 200 ? text : undefined;
}
