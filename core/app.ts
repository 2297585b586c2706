/** Builds the core process by hand and lists its services in start order. */

import { Sealer } from '@slipway/kit/host/seal';
import type { Service } from '@slipway/kit/lifecycle/service';
import { SingleRunService, startAll, stopAll } from '@slipway/kit/lifecycle/service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Transport } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import { LargeJobService } from '@slipway/kit/net/large-message';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { PieceAgentService } from '@slipway/kit/net/piece-messages';
import { mayAskByName } from '@slipway/kit/net/private-registries';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import type { Clock, Random } from '@slipway/kit/time/clock';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { Stability } from '@slipway/kit/time/stability';
import { AggregatedDiscoveryServiceService } from '@slipway/proto/gen/envoy/service/discovery/v3/discovery';
import { LoadReportingServiceService } from '@slipway/proto/gen/envoy/service/load_stats/v3/lrs';
import { AccessServiceService, KeyServiceService } from '@slipway/proto/gen/slipway/v1/access_service';
import { AuditServiceService } from '@slipway/proto/gen/slipway/v1/audit_service';
import { CatalogServiceService } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { EdgeServiceService } from '@slipway/proto/gen/slipway/v1/edge_service';
import { EndpointServiceService } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import { MachineServiceService } from '@slipway/proto/gen/slipway/v1/machine_service';
import { PodServiceService } from '@slipway/proto/gen/slipway/v1/pod_service';
import { ProblemServiceService } from '@slipway/proto/gen/slipway/v1/problem_service';
import { RegistryAuthServiceService } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { TemplateServiceService } from '@slipway/proto/gen/slipway/v1/template_service';
import { UsageServiceService } from '@slipway/proto/gen/slipway/v1/usage_service';
import { VolumeServiceService } from '@slipway/proto/gen/slipway/v1/volume_service';
import { REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import { Access } from './access/access.ts';
import { StartedWorkers } from './access/started-workers.ts';
import { buildDispatch, buildSlots } from './build-dispatch.ts';
import { buildJobEngine } from './build-job-engine.ts';
import type { CoreConfig } from './config.ts';
import { openRegistryCredentials, sealRegistryCredentials } from './dispatch/desired/registry-credentials.ts';
import { EXPLANATIONS_MAX, MANAGEMENT_CALLS_MAX } from './domain/accounts/call-limits.ts';
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
import { AccessChecks } from './rpc/accounts/access-checks.ts';
import { accessHandlers } from './rpc/accounts/access-handlers.ts';
import { auditHandlers } from './rpc/accounts/audit-handlers.ts';
import { keyHandlers } from './rpc/accounts/key-handlers.ts';
import { createControlPlane } from './rpc/ads/ads-handlers.ts';
import { createJobHandlers } from './rpc/jobs/job-handlers.ts';
import { agentHandlers } from './rpc/machines/agent-handlers.ts';
import { createEdgeHandlers } from './rpc/machines/edge-handlers.ts';
import { machineHandlers } from './rpc/machines/machine-handlers.ts';
import { podHandlers } from './rpc/pods/pod-handlers.ts';
import { problemHandlers } from './rpc/reports/problem-handlers.ts';
import { usageHandlers } from './rpc/reports/usage-handlers.ts';
import { catalogHandlers } from './rpc/resources/catalog-handlers.ts';
import { endpointHandlers } from './rpc/resources/endpoint-handlers.ts';
import { registryAuthHandlers } from './rpc/resources/registry-auth-handlers.ts';
import { templateHandlers } from './rpc/resources/template-handlers.ts';
import { volumeHandlers } from './rpc/resources/volume-handlers.ts';
import { CallRate } from './rpc/server/call-rate.ts';
import { Health } from './rpc/server/health.ts';
import { requestInterceptor } from './rpc/server/interceptors.ts';
import { PageBudget } from './rpc/server/page-budget.ts';
import { addReflection } from './rpc/server/reflection.ts';
import { RpcServer } from './rpc/server/server.ts';
import { isAccessRefused, isDiskFull, isReadOnly, isTransient, persist } from './store/sql/transient.ts';
import type { Storage } from './store/storage.ts';
import { openStorage } from './store/storage.ts';
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
  linksStableMs(): number;
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
  const own: OwnFacts = {
    replicaAddress: () => config.advertise || server.address,
    linksStableMs: () => stability.forMs,
  };
  const parts = buildParts({ ...storage, openChannel }, sealer, config, dependencies, own);
  const { server, jobCalls, edgeStreams, envoyStreams } = buildServer(parts, health, config, dependencies);
  const measures = new MetricsServer({ listen: config.metricsListen, metrics: parts.metrics, logger });
  const { table, loop, scaling, reports, pods, containers, desired, audit } = parts.dispatch;
  const resigns: Service = {
    name: 'singleton tasks (end)',
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
