/**
 * Builds the public HTTP process by hand: queue, OpenAI, REST and GraphQL surfaces on one port, over one client of
 * core.
 */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import type { Transport } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import { listenFault } from '@slipway/kit/net/listen-fault';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { EdgeServiceClient } from '@slipway/proto/gen/slipway/v1/edge_service';
import { HTTP_HEADER_BYTES_MAX, HTTP_HEADERS_MS, HTTP_KEEP_ALIVE_MS } from '@slipway/proto/wire/limits';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { fastify } from 'fastify';
import { Activator } from './activator/activator.ts';
import { addAuthorizer } from './activator/authorizer.ts';
import { HostKeys } from './activator/host-keys.ts';
import type { LbForms } from './activator/lb-routing.ts';
import { LbRouting } from './activator/lb-routing.ts';
import type { WaitBounds } from './activator/load-balancer.ts';
import { LoadBalancer, WAIT_BOUNDS } from './activator/load-balancer.ts';
import type { PodProxyOptions } from './activator/pod-proxy.ts';
import { PodProxy } from './activator/pod-proxy.ts';
import { addLoadBalancing, mayUpgrade } from './activator/routes.ts';
import { TrustedPeers } from './activator/trusted-peers.ts';
import { Tunnels } from './activator/tunnels.ts';
import type { FacadeConfig } from './config.ts';
import { LiveFeeds } from './console/live-feeds.ts';
import { surfacePath } from './console/other-surfaces.ts';
import { consoleRoutes } from './console/routes.ts';
import { Sessions } from './console/session.ts';
import { TriedRequests } from './console/tried-requests.ts';
import { CoreClient } from './core-client/core-client.ts';
import { EndpointSetLink } from './core-client/endpoint-set-link.ts';
import { Readiness } from './core-client/readiness.ts';
import { RejectionReporter } from './core-client/rejection-reporter.ts';
import { facadeMetrics } from './facade-metrics.ts';
import { frontRoutes } from './front/routes.ts';
import { GraphqlExecutor } from './graphql/executor.ts';
import { graphqlRoutes } from './graphql/routes.ts';
import type { JobParts } from './jobs/job-parts.ts';
import { openaiRoutes } from './openai/routes.ts';
import type { GateParts } from './plugins/authenticate.ts';
import { lazySchemas } from './plugins/bodies/lazy-schemas.ts';
import { readRawBodies } from './plugins/bodies/raw-body.ts';
import { schemaFault } from './plugins/bodies/schema-fault.ts';
import { addQueueCors, Preflights } from './plugins/cors.ts';
import { rejectBrokenRequest } from './plugins/errors/broken-request.ts';
import { handleErrors, queueErrorShape } from './plugins/errors/error-handler.ts';
import type { RejectUnrouted } from './plugins/errors/unknown-route.ts';
import { handleUnknownRoutes, rejectPath, rejectUnknown } from './plugins/errors/unknown-route.ts';
import { addHttpRules } from './plugins/http-rules.ts';
import type { CheckAccess } from './plugins/limits/access-cache.ts';
import { AccessCache } from './plugins/limits/access-cache.ts';
import { AddressRate } from './plugins/limits/address-rate.ts';
import { AnswerBudget } from './plugins/limits/answer-budget.ts';
import { BodyWork } from './plugins/limits/body-work.ts';
import { KeyWatch } from './plugins/limits/key-watch.ts';
import { RateLimit } from './plugins/limits/rate-limit.ts';
import { toOriginForm } from './plugins/origin-form.ts';
import { ReadBeforeAnswer } from './plugins/read-before-answer.ts';
import { requestIds } from './plugins/request-id.ts';
import { logRequests } from './plugins/request-log.ts';
import { addRequestState } from './plugins/request-state.ts';
import { traceRequests } from './plugins/request-trace.ts';
import { logs } from './queue/logs.ts';
import { queueRoutes } from './queue/routes.ts';
import { restRoutes } from './rest/routes.ts';
import { restV2Routes } from './rest-v2/routes.ts';

/** A facade that can be started and stopped once. */
export interface Facade {
  /** Resolves when HTTP listens. `metrics`: where they are read, host:port; empty: nowhere. */
  start(): Promise<{ url: string; metrics: string }>;
  /** Ends waits, lets answers out, then closes. */
  stop(): Promise<void>;
  /** Its parts that run by themselves, in the order in which they start. */
  readonly services: readonly Service[];
}

/** Slack over the body's own time before Node closes a connection whose request never ends, in milliseconds. */
const REQUEST_SLACK_MS = 30_000;
/** Longest part of a path that is looked at, in characters. No id is nearly as long; beyond it there is no route. */
const ID_LENGTH_MAX = 1_024;
/** Slack over the announced time for which an idle connection stays open, in milliseconds. */
const KEEP_ALIVE_SLACK_MS = 15_000;

const MIB = 1024 * 1024;
/** One account's bodies, or answers, may take up this part of the room for all. */
const ACCOUNT_SHARE = 4;

/** Time for running requests to end when the process stops, in milliseconds. */
const STOP_GRACE_MS = 5_000;

/** What the process takes from outside. */
export interface FacadeSeams {
  logger: Logger;
  /** Default: the machine's own. */
  clock?: Clock;
  /** Default: the machine's own. */
  random?: Random;
  /** To core. Default: the machine's own. */
  transport?: Transport;
  /** Of load-balancing endpoints. Default: as documented. */
  waits?: WaitBounds;
  /** How often core is asked whether a tunnel may stand, in milliseconds. Default: as documented. */
  tunnelAuthorizeMs?: number;
}

/** Builds the process; nothing runs before start(). */
export function buildFacade(config: FacadeConfig, given: FacadeSeams): Facade {
  const {
    logger,
    clock = systemClock,
    random = systemRandom,
    transport = systemTransport,
    waits,
    tunnelAuthorizeMs,
  } = given;
  const tls = new TlsSource(config.coreTls);
  const replicas = { addresses: config.coreAddresses, tls, transport, clock, random };
  const core = new CoreClient({ ...replicas, logger });
  const readiness = new Readiness(replicas);
  const sessions = new Sessions(config.edgeKey, clock, random);
  const tried = new TriedRequests();
  const { edgeKey, lbDomains: domains, podDomains, lbProcessingMs: processingMs, lbHoldMs: holdMs } = config;
  const forms = { edgeKey, domains, podDomains };
  const routing = new LbRouting(forms);
  const app = buildApp(config, { sessions, tried, routing, forms, random });
  const metrics = new Metrics();
  const budgets = { bodies: budgetOf(config.bodiesMib), responses: budgetOf(config.answersMib) };
  const meter = facadeMetrics(metrics, { held: () => loadBalancer.waiting, budgets }, clock);
  const check: CheckAccess = ({ apiKey, ...request }) => core.pipelinedAccess.check(apiKey, request);
  const perWorker = { rate: config.requestsPerWorker, concurrency: config.concurrencyPerWorker };
  const reporter = new RejectionReporter({ ...replicas, logger });
  const rateLimit = config.rateLimits
    ? new RateLimit(perWorker, clock, { onRejected: meter.onRefused, reporter })
    : undefined;
  const gate: GateParts = { access: new AccessCache(check, clock), rateLimit };
  const keys = new KeyWatch(gate.access, clock);
  const link = new EndpointSetLink({ ...replicas, edgeKey: config.edgeKey, logger });
  const limits = {
    holdMs: config.lbHoldMs,
    processingMs: config.lbProcessingMs,
    socketIdleMs: config.lbSocketIdleMs,
    waits: waits ?? WAIT_BOUNDS,
  };
  const edges = core.callsOf(EdgeServiceClient);
  const authorize = async (apiKey: string): Promise<string> =>
    (await edges.call((client) => client.admitTunnel, {}, { apiKey, repeatable: true })).machineId;
  const tunnels = new Tunnels({ authorize, authorizeMs: tunnelAuthorizeMs, clock, logger });
  const locate: PodProxyOptions['locate'] = (request, apiKey) =>
    edges.call((client) => client.locatePod, request, { apiKey, repeatable: true });
  const pods = new PodProxy({ locate, tunnels, rateLimit: gate.rateLimit, keys, limits, clock });
  const loadBalancer = new LoadBalancer({ link, waits: limits.waits, clock, logger });
  const activator = new Activator({ loadBalancer, tunnels, keys, limits, clock });
  const peers = new TrustedPeers(edgeKey, config.trustedProxies);
  const tracing = tracingOf('facade', config);
  const hostKeys = new HostKeys(edgeKey, clock, random);
  const readFirst = new ReadBeforeAnswer(app, edgeKey, clock);
  const balancing = {
    readFirst,
    activator,
    preflights: new Preflights(),
    hostKeys,
    tracing,
    tunnels,
    pods,
    gate,
    routing,
    peers,
    logger,
  };
  if (config.metricsListen !== '') meter.countRequests(app);
  routing.addTo(app);
  tried.addTo(app);
  const settings = { domains, podDomains, holdMs, processingMs, perWorker: config.rateLimits ? perWorker : null };
  addAuthorizer(app, { loadBalancer, gate, keys, settings, edgeKey, clock, logger });
  addRequestState(app);
  addHttpRules(app);
  logRequests(app, clock, logger);
  readRawBodies(app, {
    timeouts: { idleMs: config.bodyIdleMs, totalMs: config.bodyTotalMs },
    budget: budgets.bodies,
    clock,
  });
  const answers = new AnswerBudget({ budget: budgets.responses, idleMs: config.answerIdleMs, clock });
  const bodies = new BodyWork((config.bodiesMib + config.answersMib) * MIB, clock);
  handleErrors(app, queueErrorShape, logger);
  addLoadBalancing(app, balancing);
  addQueueCors(app, config.corsOrigins, balancing);
  const refuseUnrouted = handleUnknownRoutes(app);
  traceRequests(app, tracing);
  const executor = new GraphqlExecutor(core, clock, config.graphqlAtStart);
  addSurfaces(app, {
    core,
    keys,
    answers,
    bodies,
    config,
    clock,
    random,
    logger,
    gate,
    sessions,
    peers,
    executor,
    readiness,
    refuseUnrouted,
  });
  const measures = new MetricsServer({ listen: config.metricsListen, metrics, logger });
  const certificates = new CertificateWatch({
    prefix: 'slipway_facade',
    check: () => tls.check(),
    metrics,
    clock,
    random,
    logger,
  });
  const services = [
    ...(tracing ? [tracing] : []),
    core,
    executor,
    link,
    reporter,
    tunnels,
    loadBalancer,
    activator,
    certificates,
    measures,
  ];
  const http = new HttpProcess({ core, parts: services, readiness, app, config, clock, logger });
  return {
    services,
    start: async () => {
      await http.start();
      return { url: http.url, metrics: measures.address };
    },
    stop: () => http.stop(),
  };
}

interface SurfaceParts extends Omit<JobParts, 'jobs' | 'endpoints'> {
  core: CoreClient;
  gate: GateParts;
  sessions: Sessions;
  peers: TrustedPeers;
  executor: GraphqlExecutor;
  readiness: Readiness;
  refuseUnrouted: RejectUnrouted;
}

function addSurfaces(app: FastifyInstance, parts: SurfaceParts): void {
  const {
    core,
    keys,
    answers,
    bodies,
    config,
    clock,
    random,
    logger,
    gate,
    sessions,
    peers,
    executor,
    readiness,
    refuseUnrouted,
  } = parts;
  const queue: JobParts = {
    jobs: core.pipelined,
    endpoints: core.endpoints,
    keys,
    answers,
    bodies,
    config,
    clock,
    random,
    logger,
  };
  app.register(async (scope) => frontRoutes(scope, { ready: () => readiness.ready() }));
  app.register(async (scope) => queueRoutes(scope, queue, gate));
  app.register(async (scope) => openaiRoutes(scope, queue, gate));
  app.register(async (scope) => restRoutes(scope, { core, answers, bodies, config, clock, logger, gate }));
  app.register(async (scope) =>
    restV2Routes(scope, { core, answers, bodies, config, clock, logger }, gate, refuseUnrouted),
  );
  const console = { core, gate, sessions, answers, feeds: new LiveFeeds(clock), jobLog: logs(queue), clock, peers };
  app.register(async (scope) => consoleRoutes(scope, console, logger));
  const addresses = new AddressRate(clock);
  const keyless = ({ raw }: FastifyRequest): void => {
    peers.clean(raw);
    addresses.admit(peers.clientOf(raw));
  };
  app.register(async (scope) => graphqlRoutes(scope, { executor, answers, bodies, gate, keyless, logger }));
}

interface HttpParts {
  core: CoreClient;
  /** What asks core, in the order in which they start. */
  parts: readonly Service[];
  readiness: Readiness;
  app: FastifyInstance;
  config: FacadeConfig;
  clock: Clock;
  logger: Logger;
}

/** The whole of it: what asks core first, then the port. */
class HttpProcess extends SingleRunService {
  readonly name = 'facade';
  readonly #parts: HttpParts;
  /** Once it listens. */
  url = '';

  constructor(parts: HttpParts) {
    super();
    this.#parts = parts;
  }

  protected override async onStart(): Promise<void> {
    const { parts, app, config, logger } = this.#parts;
    await startAll(parts, logger, this.ending);
    const { httpHost: host, httpPort: port } = config;
    this.url = await app.listen({ host, port }).catch((error: Error) => {
      throw listenFault(error, `${host}:${port}`);
    });
    logger.info({ url: this.url }, 'facade listens');
  }

  protected override async onStop(): Promise<void> {
    const { core, parts, readiness, app, clock, logger } = this.#parts;
    core.abandonAll();
    const cut = clock.after(STOP_GRACE_MS, () => app.server.closeAllConnections());
    await app.close();
    cut.cancel();
    readiness.close();
    await stopAll(parts, logger);
  }
}

function budgetOf(mib: number): MemoryBudget {
  return new MemoryBudget({ bytesMax: mib * MIB, ownerBytesMax: (mib * MIB) / ACCOUNT_SHARE });
}

interface AppParts {
  sessions: Sessions;
  tried: TriedRequests;
  routing: LbRouting;
  forms: LbForms;
  random: Random;
}

function buildApp(config: FacadeConfig, { sessions, tried, routing, forms, random }: AppParts): FastifyInstance {
  return fastify({
    genReqId: requestIds(random),
    rewriteUrl: (request) => {
      toOriginForm(request);
      return routing.routed(request, surfacePath(request, sessions, tried));
    },
    logger: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    keepAliveTimeout: HTTP_KEEP_ALIVE_MS,
    // Bodies of other surfaces have timers of their own; one of a load-balancing endpoint may wait unread for a worker
    // first.
    requestTimeout: Math.max(config.bodyTotalMs, config.lbHoldMs + config.lbProcessingMs) + REQUEST_SLACK_MS,
    http: {
      shouldUpgradeCallback: (request) => {
        toOriginForm(request);
        return mayUpgrade(request, forms);
      },
      headersTimeout: Math.min(HTTP_HEADERS_MS, config.bodyTotalMs + REQUEST_SLACK_MS),
      maxHeaderSize: HTTP_HEADER_BYTES_MAX,
      // Closes an idle connection that much later than was announced: a busy client counts late, and would send on it
      // just then.
      keepAliveTimeoutBuffer: KEEP_ALIVE_SLACK_MS,
      // Node refuses such a request without a body (plugins/http-rules.ts).
      requireHostHeader: false,
    },
    routerOptions: { ignoreDuplicateSlashes: true, ignoreTrailingSlash: true, maxParamLength: ID_LENGTH_MAX },
    schemaController: lazySchemas(),
    schemaErrorFormatter: schemaFault,
    // Our own schemas, whose types were checked, are not checked against JSON Schema's: to compile that took a third of
    // what a facade's start took itself.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, validateSchema: false } },
    clientErrorHandler: rejectBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      void (error.code === 'FST_ERR_MAX_PARAM_LENGTH' ? rejectUnknown(request, reply) : rejectPath(request, reply));
    },
  });
}
