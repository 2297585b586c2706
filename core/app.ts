/** Builds the core process by hand and lists its services in start order. */

import { AggregatedDiscoveryServiceService } from '../proto/gen/envoy/service/discovery/v3/discovery.ts';
import { LoadReportingServiceService } from '../proto/gen/envoy/service/load_stats/v3/lrs.ts';
import { AccessServiceService, KeyServiceService } from '../proto/gen/slipway/v1/access_service.ts';
import { AuditServiceService } from '../proto/gen/slipway/v1/audit_service.ts';
import { CatalogServiceService } from '../proto/gen/slipway/v1/catalog_service.ts';
import { EdgeServiceService } from '../proto/gen/slipway/v1/edge_service.ts';
import { EndpointServiceService } from '../proto/gen/slipway/v1/endpoint_service.ts';
import { MachineServiceService } from '../proto/gen/slipway/v1/machine_service.ts';
import { PodServiceService } from '../proto/gen/slipway/v1/pod_service.ts';
import { ProblemServiceService } from '../proto/gen/slipway/v1/problem_service.ts';
import { RegistryAuthServiceService } from '../proto/gen/slipway/v1/registry_auth_service.ts';
import { TemplateServiceService } from '../proto/gen/slipway/v1/template_service.ts';
import { UsageServiceService } from '../proto/gen/slipway/v1/usage_service.ts';
import { VolumeServiceService } from '../proto/gen/slipway/v1/volume_service.ts';
import type { Transport } from '../proto/wire/channel.ts';
import { systemTransport } from '../proto/wire/channel.ts';
import { LargeJobService } from '../proto/wire/large-message.ts';
import { REQUEST_WINDOW_SECONDS } from '../proto/wire/limits.ts';
import { PieceAgentService } from '../proto/wire/piece-messages.ts';
import { Access } from './access/access.ts';
import { StartedWorkers } from './access/started-workers.ts';
import { buildDispatch, buildSlots } from './build-dispatch.ts';
import { buildJobEngine } from './build-job-engine.ts';
import type { CoreConfig } from './config.ts';
import { openRegistryCredentials, sealRegistryCredentials } from './dispatch/registry-credentials.ts';
import { EXPLANATIONS_MAX, MANAGEMENT_CALLS_MAX } from './domain/call-limits.ts';
import { BackendDirectory } from './edge/backend-directory.ts';
import { BackendRegistry } from './edge/backend-registry.ts';
import { DemandWriter } from './edge/demand-writer.ts';
import { RejectionTracker } from './edge/rejection-tracker.ts';
import { CannotRun } from './endpoints/cannot-run.ts';
import type { EndpointContext } from './endpoints/endpoint-context.ts';
import { WhatIfAnswers } from './endpoints/what-if-answers.ts';
import { CoreEvents } from './events/core-events.ts';
import { SingletonTaskRegistry } from './events/singleton-task-registry.ts';
import { coreMetrics } from './metrics/core-metrics.ts';
import { Problems } from './reports/problems.ts';
import { UsageTurns } from './reports/usage-turns.ts';
import { AccessChecks } from './rpc/access-checks.ts';
import { accessHandlers } from './rpc/access-handlers.ts';
import { createControlPlane } from './rpc/ads/ads-handlers.ts';
import { agentHandlers } from './rpc/agent-handlers.ts';
import { auditHandlers } from './rpc/audit-handlers.ts';
import { CallRate } from './rpc/call-rate.ts';
import { catalogHandlers } from './rpc/catalog-handlers.ts';
import { createEdgeHandlers } from './rpc/edge-handlers.ts';
import { endpointHandlers } from './rpc/endpoint-handlers.ts';
import { Health } from './rpc/health.ts';
import { requestInterceptor } from './rpc/interceptors.ts';
import { createJobHandlers } from './rpc/job-handlers.ts';
import { keyHandlers } from './rpc/key-handlers.ts';
import { machineHandlers } from './rpc/machine-handlers.ts';
import { PageBudget } from './rpc/page-budget.ts';
import { podHandlers } from './rpc/pod-handlers.ts';
import { problemHandlers } from './rpc/problem-handlers.ts';
import { addReflection } from './rpc/reflection.ts';
import { registryAuthHandlers } from './rpc/registry-auth-handlers.ts';
import { RpcServer } from './rpc/server.ts';
import { templateHandlers } from './rpc/template-handlers.ts';
import { usageHandlers } from './rpc/usage-handlers.ts';
import { volumeHandlers } from './rpc/volume-handlers.ts';
import type { Clock, Random } from './runtime/clock.ts';
import { systemClock, systemRandom } from './runtime/clock.ts';
import type { Logger } from './runtime/logger.ts';
import { Metrics } from './runtime/metrics.ts';
import { MetricsServer } from './runtime/metrics-server.ts';
import { mayAskByName } from './runtime/private-registries.ts';
import { Sealer } from './runtime/seal.ts';
import type { Service } from './runtime/service.ts';
import { SingleRunService, startAll, stopAll } from './runtime/service.ts';
import { Stability } from './runtime/stability.ts';
import { tracingOf } from './runtime/tracing.ts';
import type { Storage } from './store/storage.ts';
import { openStorage } from './store/storage.ts';
import { isAccessRefused, isDiskFull, isReadOnly, isTransient, persist } from './store/transient.ts';
import { webhookTrust } from './webhook-trust.ts';

/**
 * How long a starting core waits for its database, in milliseconds; while only the database's disk is full it waits on.
 */
const DATABASE_WAIT_MS = 30_000;

/** What a replica takes from outside; its database comes with the configuration. */
export interface CoreDependencies {
  logger: Logger;
  /** Default: the machine's own. */
  clock?: Clock;
  /** Default: the machine's own. */
  random?: Random;
  /** Default: the machine's own. */
  transport?: Transport;
}

type Dependencies = Required<CoreDependencies>;

/** A core replica that is built and not started. */
export interface Core {
  /** Resolves when it serves; the address is where, and `metrics` where its metrics are read, empty: nowhere. */
  start(): Promise<{ address: string; metrics: string }>;
  /** Ends everything in order. May be called at any time and more than once. */
  stop(): Promise<void>;
  /** Its parts in the order in which they start. */
  readonly services: readonly Service[];
}

/** What parts ask of the replica as a whole. */
interface OwnFacts {
  /** Where other replicas reach it. */
  replicaAddress(): string;
  /** For how many milliseconds it has worked without a break. */
  steadyMs(): number;
}

/** Everything between the database and the handlers. */
function buildParts(
  { stores, openChannel }: Storage,
  sealer: Sealer,
  config: CoreConfig,
  dependencies: Dependencies,
  own: OwnFacts,
) {
  const { clock, random, logger } = dependencies;
  const events = new CoreEvents();
  const slots = buildSlots();
  const metrics = new Metrics();
  const meter = coreMetrics({
    metrics,
    store: stores.metrics,
    endpointsMax: config.metricsEndpointsMax,
    sessions: () => dispatch.table.all().length,
    clock,
  });
  const tracing = tracingOf('core', config);
  const singletonTasks = new SingletonTaskRegistry();
  const cannotRun = new CannotRun(stores, clock);
  const trust = webhookTrust(config.webhookCaFile, { metrics, ...dependencies });
  const engine = buildJobEngine({
    stores,
    openChannel,
    events,
    singletonTasks,
    slots: slots.pool,
    sealer,
    cannotRun,
    meter: meter.engine,
    tracing,
    ...dependencies,
    config,
    webhookAuthorities: trust.authorities,
  });
  const dispatch = buildDispatch(slots, engine.attempts, {
    ...stores,
    events,
    task: singletonTasks.of('scaling'),
    ...own,
    scaleMeter: meter.scales,
    onStarts: meter.onStarts,
    batches: meter.engine.batches,
    ...dependencies,
    openCredentials: (id, sealed) => openRegistryCredentials(sealer, logger, id, sealed),
  });
  const refusals = new RejectionTracker(clock, REQUEST_WINDOW_SECONDS);
  const context: EndpointContext = {
    ...stores,
    refusals,
    sealer,
    random,
    cannotRun,
    mayAsk: mayAskByName(config.privateRegistries),
    whatIfs: new WhatIfAnswers({ stores, clock }),
    deleteJobs: engine.deleteJobs,
    onDesired: (machineIds) => {
      events.emit('desired', machineIds);
      // A pod that goes leaves what it had.
      events.emit('capacity', machineIds);
    },
    onCapacity: (machineIds) => events.emit('capacity', machineIds),
    onKeysChanged: (keyIds) => events.emit('keys', keyIds),
    onChanged: (endpointIds) => {
      events.emit('endpoints', endpointIds);
      dispatch.scaling.trigger(endpointIds);
    },
  };
  const access = new Access({ ...stores, events, rootKey: config.rootKey, clock });
  const edge = {
    registry: new BackendRegistry({ edge: stores.edge, events, ...dependencies }),
    directory: new BackendDirectory({ edge: stores.edge, events, ...dependencies }),
    demands: new DemandWriter({
      edge: stores.edge,
      onWaiting: (endpointIds) => dispatch.scaling.trigger(endpointIds),
      ...dependencies,
    }),
  };
  return {
    stores,
    sealer,
    engine,
    dispatch,
    singletonTasks,
    context,
    refusals,
    access,
    edge,
    meter,
    metrics,
    tracing,
    trust,
  };
}

/** The gRPC edge. */
function buildServer(
  parts: ReturnType<typeof buildParts>,
  health: Health,
  config: CoreConfig,
  dependencies: Dependencies,
) {
  const { clock, random, transport, logger } = dependencies;
  const { stores, sealer, engine, dispatch, context, access } = parts;
  const { batches, budgets } = parts.meter.engine;
  const edge = createEdgeHandlers({
    access,
    refusals: parts.refusals,
    edge: stores.edge,
    ...parts.edge,
    edgeKey: config.edgeKey,
    onResent: parts.meter.onRotationResent,
    ...dependencies,
  });
  const controlPlane = createControlPlane({ ...parts.edge, edgeKey: config.edgeKey, random, logger });
  const explainRate = new CallRate({ callsMax: EXPLANATIONS_MAX, access, clock, logger });
  const logs = { machines: context.machines, logs: dispatch.logs, transport, clock };
  const checks = new AccessChecks({ access, startedWorkers: new StartedWorkers(stores.workers, clock), clock });
  const jobCalls = {
    calls: engine.calls,
    explains: { ...context, rate: explainRate },
    logs,
    access,
    checks,
    tracing: parts.tracing,
  };
  const lists = { room: new PageBudget(budgets), logger };
  const jobs = createJobHandlers({ ...jobCalls, lists, clock, logger });
  const onKeyChanged = (keyId: string): void => context.onKeysChanged([keyId]);
  const problems = new Problems({ stores, cannotRun: context.cannotRun, refusals: parts.refusals, clock });
  const rate = new CallRate({ callsMax: MANAGEMENT_CALLS_MAX, access, clock, logger });
  const server = new RpcServer({
    listen: config.listen,
    transport,
    clock,
    logger,
    interceptors: [requestInterceptor({ ...dependencies, onCall: parts.meter.onCall })],
    extend: [(grpc) => health.addTo(grpc), addReflection],
    services: [
      [LargeJobService, jobs.handlers],
      [EdgeServiceService, edge.handlers],
      [AggregatedDiscoveryServiceService, controlPlane.discovery],
      [LoadReportingServiceService, controlPlane.loadReports],
      [EndpointServiceService, rate.limit(endpointHandlers(access, { ...context, rate: explainRate }, lists))],
      [TemplateServiceService, rate.limit(templateHandlers(access, context, lists))],
      [AccessServiceService, accessHandlers({ access, accounts: stores.accounts, checks, random, logger })],
      [KeyServiceService, rate.limit(keyHandlers(access, { ...stores, random }, onKeyChanged, lists))],
      [VolumeServiceService, rate.limit(volumeHandlers(access, { volumes: stores.volumes, random }, lists))],
      [
        RegistryAuthServiceService,
        rate.limit(
          registryAuthHandlers(
            access,
            {
              registryAuths: stores.registryAuths,
              onChanged: context.onChanged,
              onDesired: context.onDesired,
              random,
              seal: (id, credentials) => sealRegistryCredentials(sealer, id, credentials),
            },
            lists,
          ),
        ),
      ],
      [ProblemServiceService, rate.limit(problemHandlers(access, problems, logger))],
      [AuditServiceService, rate.limit(auditHandlers(access, stores.audit, logger))],
      [MachineServiceService, rate.limit(machineHandlers({ access, context, logs, ...lists }))],
      [CatalogServiceService, rate.limit(catalogHandlers(access, stores, logger))],
      [
        UsageServiceService,
        rate.limit(usageHandlers(access, { ...stores, usage: new UsageTurns(stores, clock, batches), clock }, logger)),
      ],
      [PodServiceService, rate.limit(podHandlers(access, { ...stores, ...context }, logs, lists))],
      [
        PieceAgentService,
        agentHandlers({
          access,
          keys: stores.keys,
          images: stores.images,
          onBound: onKeyChanged,
          context: dispatch.sessions,
          meter: budgets,
          logger,
        }),
      ],
    ],
  });
  return { server, jobCalls: jobs.service, edgeStreams: edge.service, envoyStreams: controlPlane.service };
}

/** Stops a service earlier than the order of starting would. */
function endEarly(service: Service): Service {
  return { name: `${service.name} (end)`, start: async () => undefined, stop: () => service.stop() };
}

/** Builds a replica. Several in one process do not share anything. */
export function buildCore(config: CoreConfig, given: CoreDependencies): Core {
  const dependencies: Dependencies = { clock: systemClock, random: systemRandom, transport: systemTransport, ...given };
  const { logger } = dependencies;
  const sealer = new Sealer(config.secretKey);
  const storage = openStorage(config.databaseUrl, sealer, logger);
  const health = new Health({ ping: storage.ping, ...dependencies });
  const stability = new Stability(dependencies.clock);
  const onCheck = (answers: boolean): void => {
    health.reportDatabase(answers);
    stability.record(answers);
  };
  const openChannel: Storage['openChannel'] = (options) => storage.openChannel({ ...options, onCheck });
  const own: OwnFacts = { replicaAddress: () => config.advertise || server.address, steadyMs: () => stability.forMs };
  const parts = buildParts({ ...storage, openChannel }, sealer, config, dependencies, own);
  const { server, jobCalls, edgeStreams, envoyStreams } = buildServer(parts, health, config, dependencies);
  const measures = new MetricsServer({ listen: config.metricsListen, metrics: parts.metrics, logger });
  const { table, loop, scaling, reports, pods, containers, desired, audit } = parts.dispatch;
  const resigns: Service = {
    name: 'singletonTasks (end)',
    start: async () => undefined,
    stop: async () => parts.singletonTasks.resign(),
  };
  // Services stop from last to first: no new traffic, singleton tasks move to other replicas, claims stop, waits end,
  // agents leave, calls end.
  const early = [endEarly(table), endEarly(loop), resigns] as const;
  const services = [
    ...(parts.tracing ? [parts.tracing] : []),
    ...parts.engine.services,
    reports,
    pods,
    containers,
    desired,
    audit,
    scaling,
    parts.edge.registry,
    parts.edge.directory,
    parts.edge.demands,
    table,
    loop,
    parts.trust.watch,
    measures,
    server,
    early[0],
    jobCalls,
    edgeStreams,
    envoyStreams,
    early[1],
    resigns,
    health,
  ];
  const replica = new Replica(storage, services, dependencies);
  return {
    services: services.filter((service) => !early.includes(service)),
    start: async () => {
      await replica.start();
      return { address: server.address, metrics: measures.address };
    },
    stop: () => replica.stop(),
  };
}

/** The whole of it: its database first, then its services in order. */
class Replica extends SingleRunService {
  readonly name = 'core';
  readonly #storage: Storage;
  readonly #services: readonly Service[];
  readonly #dependencies: Dependencies;

  constructor(storage: Storage, services: readonly Service[], dependencies: Dependencies) {
    super();
    this.#storage = storage;
    this.#services = services;
    this.#dependencies = dependencies;
  }

  protected override async onStart(): Promise<void> {
    const { logger } = this.#dependencies;
    let reported = '';
    const onFailure = (error: unknown): void => {
      if (isReadOnly(error)) {
        // It is waited for without an end, so it is said once.
        const { message } = error as Error;
        if (message !== reported) logger.warn(message);
        reported = message;
      } else if (isTransient(error)) logger.warn({ err: error }, 'the database is not there yet');
    };
    const forMs = (error: unknown): number => (isDiskFull(error) || isReadOnly(error) ? Infinity : DATABASE_WAIT_MS);
    try {
      await persist(this.#storage.prepare, { ...this.#dependencies, forMs, signal: this.ending, onFailure });
    } catch (error) {
      if (!isAccessRefused(error)) throw error;
      throw new Error(`SLIPWAY_DATABASE_URL does not let core in: ${(error as Error).message}`, { cause: error });
    }
    await startAll(this.#services, logger, this.ending);
  }

  protected override async onStop(): Promise<void> {
    await stopAll(this.#services, this.#dependencies.logger);
    await this.#storage.close();
  }
}
