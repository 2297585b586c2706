/** Builds the public HTTP process: queue, OpenAI, REST and GraphQL surfaces on one port, with one client of core. */

import type { Server } from 'node:https';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { CertificateState } from '@slipway/kit/net/certificate-watch';
import { CertificateWatch } from '@slipway/kit/net/certificate-watch';
import type { Transport } from '@slipway/kit/net/channel';
import { networkTransport } from '@slipway/kit/net/channel';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { TlsSource } from '@slipway/kit/net/tls-source';
import { callerAddress } from '@slipway/kit/observe/caller-address';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import type { FastifyInstance } from 'fastify';
import { addAuthorizer } from './activator/authorizer.ts';
import { LbRouting } from './activator/lb-routing.ts';
import type { WaitBounds } from './activator/load-balancer.ts';
import { addLoadBalancing } from './activator/routes.ts';
import type { Balancing } from './balancing.ts';
import { buildBalancing, workerRelay } from './balancing.ts';
import type { FacadeConfig } from './config.ts';
import { Sessions } from './console/session.ts';
import { TriedRequests } from './console/tried-requests.ts';
import { CoreClient } from './core-client/core-client.ts';
import { Readiness } from './core-client/readiness.ts';
import { RejectionReporter } from './core-client/rejection-reporter.ts';
import { replicaAddresses, replicaList } from './core-client/replica-parts.ts';
import { createApp } from './create-app.ts';
import type { FacadeMeter } from './facade-metrics.ts';
import { facadeMetrics } from './facade-metrics.ts';
import { FACADE_VERSION } from './facade-version.ts';
import { GraphqlExecutor } from './graphql/executor.ts';
import { HttpCertificate } from './http-certificate.ts';
import { HttpProcess } from './http-process.ts';
import type { GateParts } from './plugins/authenticate.ts';
import { readRawBodies } from './plugins/bodies/raw-body.ts';
import { lingerBeforeClose } from './plugins/connections/lingering-close.ts';
import { addQueueCors } from './plugins/cors.ts';
import { handleErrors, queueErrorShape } from './plugins/errors/error-handler.ts';
import type { UnroutedHandler } from './plugins/errors/unknown-route.ts';
import { handleUnknownRoutes } from './plugins/errors/unknown-route.ts';
import { addHttpRules } from './plugins/http-rules.ts';
import { AccessCache } from './plugins/limits/access-cache.ts';
import { AnswerBudget } from './plugins/limits/answer-budget.ts';
import { BodyWork } from './plugins/limits/body-work.ts';
import { ConnectionLimit } from './plugins/limits/connection-limit.ts';
import { KeyWatch } from './plugins/limits/key-watch.ts';
import { RateLimit } from './plugins/limits/rate-limit.ts';
import { nameCallers } from './plugins/name-callers.ts';
import { paceRequests } from './plugins/pace-requests.ts';
import { ReadBeforeAnswer } from './plugins/read-before-answer.ts';
import { logRequests } from './plugins/request-log.ts';
import { addRequestState } from './plugins/request-state.ts';
import { traceRequests } from './plugins/request-trace.ts';
import { addSurfaces } from './surfaces.ts';

/** A facade that can be started and stopped once. */
export interface Facade {
  /** Resolves when HTTP listens. `metrics`: where they are read, host:port; empty: nowhere. */
  start(): Promise<{ url: string; metrics: string }>;
  /** Ends waits, sends the last responses, then closes. */
  stop(): Promise<void>;
  /** Handles a request without a connection. For simulations. */
  readonly inject: FastifyInstance['inject'];
  /** Its HTTP server. For simulations. */
  readonly server: FastifyInstance['server'];
  /** Its parts that run by themselves, in the order in which they start. */
  readonly services: readonly Service[];
}

const MIB = 1024 * 1024;
/** One account's bodies, or responses, may take up this part of the budget for all. */
const ACCOUNT_SHARE = 4;

/** Dependencies from outside the process. */
interface FacadeDependencies {
  logger: Logger;
  /** Default: the machine's own. */
  clock?: Clock;
  /** Default: the machine's own. */
  random?: Random;
  /** Transport to core. Default: the machine's own. */
  transport?: Transport;
  /** Bounds of the queues of load-balancing endpoints. Default: as documented. */
  waits?: WaitBounds;
  /** Interval at which core is asked whether a tunnel may stay open, in milliseconds. Default: as documented. */
  tunnelAuthorizeMs?: number;
}

const facadeTransport = networkTransport({ name: 'facade', version: FACADE_VERSION });

/** Memory budgets of request and response bodies. */
type Budgets = Readonly<Record<'bodies' | 'responses', MemoryBudget>>;

/** Builds the process; nothing runs before start(). */
export function buildFacade(config: FacadeConfig, given: FacadeDependencies): Facade {
  const { logger, clock = systemClock, random = systemRandom, transport = facadeTransport } = given;
  const tls = new TlsSource(config.coreTls);
  const list = replicaList({ configured: config.coreAddresses, tls, transport, clock, random, logger });
  const replicas = { ...replicaAddresses(list), tls, transport, clock, random };
  const core = new CoreClient({ ...replicas, logger });
  const readiness = new Readiness(replicas);
  const sessions = new Sessions(config.edgeKeys, clock, random);
  const tried = new TriedRequests();
  const forms = { edgeKeys: config.edgeKeys, domains: config.lbDomains, podDomains: config.podDomains };
  const routing = new LbRouting(forms);
  const certificate = new HttpCertificate({ config, clock, random, logger });
  const app = createApp(config, { sessions, tried, routing, forms, clock, random, tls: certificate.options() });
  if (config.httpCertFile !== '') certificate.renew(app.server as unknown as Server);
  const metrics = new Metrics();
  const budgets = { bodies: budgetOf(config.bodiesMib), responses: budgetOf(config.answersMib) };
  const meter = facadeMetrics(metrics, { queued: () => balancing.loadBalancer.waiting, budgets }, clock);
  const reporter = new RejectionReporter({ ...replicas, logger });
  const gate = buildGate(config, { core, meter, reporter, clock });
  const keys = new KeyWatch(gate.access, clock);
  const tracing = tracingOf('facade', FACADE_VERSION, config);
  const { waits, tunnelAuthorizeMs } = given;
  const balancing = buildBalancing(config, {
    ...{ core, replicas, gate, keys, routing, tracing, waits, tunnelAuthorizeMs, clock, random, logger },
  });
  if (config.metricsListen !== '') meter.countRequests(app);
  new ConnectionLimit({
    ofAddressMax: config.connectionsPerAddress,
    peers: balancing.peers,
    onRejected: meter.onConnectionRejected,
    logger,
  }).addTo(app);
  const rejectUnrouted = addHooks(app, { config, tried, balancing, gate, keys, budgets, clock, logger });
  const executor = new GraphqlExecutor(core, clock, config.graphqlAtStart);
  const answers = new AnswerBudget({ budget: budgets.responses, idleMs: config.answerIdleMs, clock });
  const bodies = new BodyWork((config.bodiesMib + config.answersMib) * MIB, clock, gate.rateLimit);
  const { peers, link, requests, tunnels, loadBalancer, activator } = balancing;
  addSurfaces(app, {
    ...{ core, keys, answers, bodies, config, clock, random, logger, uploads: uploadParts(config, budgets, clock) },
    ...{ gate, sessions, peers, executor, readiness, rejectUnrouted, forward: workerRelay(balancing) },
  });
  const metricsServer = new MetricsServer({ listen: config.metricsListen, metrics, logger });
  const check = (): CertificateState => together(tls.check(), certificate.check());
  const certificates = new CertificateWatch({ prefix: 'slipway_facade', check, metrics, clock, random, logger });
  const parts = [
    list,
    core,
    executor,
    link,
    reporter,
    requests,
    tunnels,
    loadBalancer,
    activator,
    certificate,
    certificates,
    metricsServer,
  ];
  const services = [...(tracing ? [tracing] : []), ...parts];
  const http = new HttpProcess({ core, services, readiness, app, config, clock, logger });
  return {
    services,
    start: async () => {
      await http.start();
      return { url: http.url, metrics: metricsServer.address };
    },
    stop: () => http.stop(),
    ...{ inject: app.inject.bind(app), server: app.server },
  };
}

/** Returns the state of two sets of files. */
function together(one: CertificateState, other: CertificateState | undefined): CertificateState {
  if (!other) return one;
  return {
    version: one.version + other.version,
    fault: one.fault ?? other.fault,
    validity: { ...one.validity, ...other.validity },
  };
}

function budgetOf(mib: number): MemoryBudget {
  return new MemoryBudget({ bytesMax: mib * MIB, ownerBytesMax: (mib * MIB) / ACCOUNT_SHARE });
}

function uploadParts({ bodyTotalMs: memoryMs, bodyIdleMs: idleMs }: FacadeConfig, { bodies }: Budgets, clock: Clock) {
  return { memory: bodies, timeouts: { memoryMs, idleMs }, clock };
}

/** Returns the limits per worker of the config. */
function perWorkerOf(config: FacadeConfig): { rate: number; concurrency: number } {
  return { rate: config.requestsPerWorker, concurrency: config.concurrencyPerWorker };
}

interface GateDependencies {
  core: CoreClient;
  meter: FacadeMeter;
  reporter: RejectionReporter;
  clock: Clock;
}

function buildGate(config: FacadeConfig, { core, meter, reporter, clock }: GateDependencies): GateParts {
  const access = new AccessCache(
    ({ apiKey, ...request }) => core.pipelinedAccess.check(apiKey, { ...request, callerAddress: callerAddress() }),
    clock,
  );
  const rateLimit = config.rateLimits
    ? new RateLimit(perWorkerOf(config), clock, { onRejected: meter.onRejected, reporter })
    : undefined;
  return { access, rateLimit };
}

interface HookParts {
  config: FacadeConfig;
  tried: TriedRequests;
  balancing: Balancing;
  gate: GateParts;
  keys: KeyWatch;
  budgets: Budgets;
  clock: Clock;
  logger: Logger;
}

/** Adds what runs around the routes, in this order. Returns the answer to requests without a route. */
function addHooks(app: FastifyInstance, parts: HookParts): UnroutedHandler {
  const { config, tried, balancing, gate, keys, budgets, clock, logger } = parts;
  const { edgeKeys, lbDomains: domains, podDomains, lbProcessingMs: processingMs, lbHoldMs: holdMs } = config;
  const perWorker = config.rateLimits ? perWorkerOf(config) : null;
  const settings = { domains, podDomains, holdMs, processingMs, perWorker };
  const timeouts = { idleMs: config.bodyIdleMs, totalMs: config.bodyTotalMs };
  const readFirst = new ReadBeforeAnswer(app, clock, timeouts.idleMs);
  balancing.routing.addTo(app);
  paceRequests(
    app,
    gate.access,
    (request) => balancing.routing.routeFor(request)?.target?.authorized?.accountId,
    clock,
  );
  tried.addTo(app);
  addAuthorizer(app, { loadBalancer: balancing.loadBalancer, gate, keys, settings, edgeKeys, clock, logger });
  addRequestState(app);
  nameCallers(app, balancing.peers);
  addHttpRules(app, clock);
  logRequests(app, clock, logger);
  readRawBodies(app, { timeouts, budget: budgets.bodies, clock });
  lingerBeforeClose(app.server, clock);
  handleErrors(app, queueErrorShape, logger);
  addLoadBalancing(app, { ...balancing, readFirst });
  addQueueCors(app, config.corsOrigins, balancing);
  const rejectUnrouted = handleUnknownRoutes(app);
  traceRequests(app, balancing.tracing);
  return rejectUnrouted;
}
