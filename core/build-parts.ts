/** Builds the parts of a replica between its database and its handlers: use cases, loops, metrics. */

import type { Sealer } from '@slipway/kit/host/seal';
import { mayAskByName } from '@slipway/kit/net/private-registries';
import { Metrics } from '@slipway/kit/observe/metrics';
import { tracingOf } from '@slipway/kit/observe/tracing';
import { REQUEST_WINDOW_SECONDS } from '@slipway/proto/wire/limits';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { Access } from './access/access.ts';
import { buildBatches } from './build-batches.ts';
import { buildDispatch, buildSlots } from './build-dispatch.ts';
import { buildJobEngine } from './build-job-engine.ts';
import type { CoreConfig } from './config.ts';
import type { Dependencies } from './core-dependencies.ts';
import { openRegistryCredentials } from './dispatch/desired/registry-credentials.ts';
import { SecretResolver } from './dispatch/desired/secret-resolver.ts';
import { BackendDirectory } from './edge/backend-directory.ts';
import { BackendRegistry } from './edge/backend-registry.ts';
import { DemandWriter } from './edge/demand-writer.ts';
import { RejectionTracker } from './edge/rejection-tracker.ts';
import { RequestMeter } from './edge/request-meter.ts';
import { RequestWriter } from './edge/request-writer.ts';
import { CannotRun } from './endpoints/cannot-run.ts';
import type { EndpointContext } from './endpoints/endpoint-context.ts';
import { WhatIfAnswers } from './endpoints/what-if-answers.ts';
import { CoreEvents } from './events/core-events.ts';
import { SingletonTaskRegistry } from './events/singleton-task-registry.ts';
import type { JobEngine } from './jobs/job-engine.ts';
import type { CoreCertificates } from './joining/core-certificates.ts';
import type { CoreMeter } from './metrics/core-metrics.ts';
import { coreMetrics } from './metrics/core-metrics.ts';
import { CORE_VERSION } from './reports/core-version.ts';
import { Problems } from './reports/problems.ts';
import { ReplicaRegistry } from './reports/replica-registry.ts';
import type { ScalingService } from './scaling/scaling-service.ts';
import { AlertSender } from './singleton-tasks/alert-sender.ts';
import { MailSender } from './singleton-tasks/mail-sender.ts';
import type { Storage, Stores } from './store/storage.ts';
import { webhookTrust } from './webhook-trust.ts';

/** Facts about the replica as a whole. */
export interface ReplicaFacts {
  /** Returns the address at which other replicas reach it. */
  replicaAddress(): string;
  /** Returns host:port of each address at which it speaks TLS. */
  secureAddresses(): string[];
  certificates: CoreCertificates;
  /** Returns for how many milliseconds it has worked without a break. */
  linksStableMs(): number;
}

/** Builds everything between the database and the handlers. */
export function buildParts(
  { stores, openChannel }: Storage,
  sealer: Sealer,
  config: CoreConfig,
  dependencies: Dependencies,
  own: ReplicaFacts,
) {
  const { clock, logger, activity } = dependencies;
  const events = new CoreEvents(() => activity.mark());
  const slots = buildSlots();
  activity.busyWhile(() => slots.pool.busy);
  const metrics = new Metrics();
  const meter: CoreMeter = coreMetrics({
    metrics,
    store: stores.metrics,
    endpointsMax: config.metricsEndpointsMax,
    sessions: () => dispatch.table.all().length,
    clock,
  });
  const tracing = tracingOf('core', CORE_VERSION, config);
  const singletonTasks = new SingletonTaskRegistry();
  const cannotRun = new CannotRun(stores, clock);
  const trust = webhookTrust(config.webhookCaFile, { metrics, ...dependencies, ...own.certificates.watched });
  const engine = buildJobEngine({
    stores,
    openChannel,
    events,
    singletonTasks,
    ...{ live: slots.live, slots: slots.pool, times: slots.times },
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
    ...{ ...dependencies, sealer, modelHub: config.modelHub },
    secrets: new SecretResolver({ secrets: stores.secrets, sealer, logger }),
    openCredentials: (id, sealed) => openRegistryCredentials(sealer, logger, id, sealed),
  });
  const rejections = new RejectionTracker(clock, REQUEST_WINDOW_SECONDS);
  const shared = { stores, sealer, events, rejections, cannotRun, engine, scaling: dispatch.scaling };
  const context = buildEndpointContext(shared, config, dependencies);
  const batches = buildBatches({ ...shared, singletonTasks, onEnded: meter.onBatchRequests }, config, dependencies);
  const access = new Access({ ...stores, events, rootKeys: [config.rootKey, config.previousRootKey], clock });
  return {
    ...shared,
    ...buildAlerts({ ...shared, singletonTasks, trust }, config, dependencies),
    dispatch,
    singletonTasks,
    context,
    batches,
    access,
    edge: buildEdge(shared, meter, dependencies),
    ...{ meter, metrics, tracing, trust },
    own,
    registry: new ReplicaRegistry({ periodMs: LINK_TIMERS.replicaBeatMs, ...stores, ...own, ...dependencies }),
  };
}

/** Parts that use cases and the edge share. */
interface SharedParts {
  stores: Stores;
  sealer: Sealer;
  events: CoreEvents;
  rejections: RejectionTracker;
  cannotRun: CannotRun;
  engine: JobEngine;
  scaling: ScalingService;
}

/** Builds the context of the use cases of endpoints, templates and pods. */
function buildEndpointContext(
  { stores, sealer, events, rejections, cannotRun, engine, scaling }: SharedParts,
  config: CoreConfig,
  { clock, random }: Dependencies,
): EndpointContext {
  return {
    ...stores,
    rejections,
    sealer,
    random,
    cannotRun,
    mayAsk: mayAskByName(config.privateRegistries),
    whatIfs: new WhatIfAnswers({ stores, clock }),
    deleteJobs: engine.deleteJobs,
    onDesired: (machineIds) => {
      events.emit('desired', machineIds);
      // A pod that ends frees its GPUs and memory.
      events.emit('capacity', machineIds);
    },
    onCapacity: (machineIds) => events.emit('capacity', machineIds),
    onKeysChanged: (keyIds) => events.emit('keys', keyIds),
    onChanged: (endpointIds) => {
      events.emit('endpoints', endpointIds);
      scaling.trigger(endpointIds);
    },
  };
}

/** Builds the list of problems, and what sends them. */
function buildAlerts(
  {
    singletonTasks,
    trust,
    ...shared
  }: SharedParts & { singletonTasks: SingletonTaskRegistry; trust: ReturnType<typeof webhookTrust> },
  config: CoreConfig,
  dependencies: Dependencies,
) {
  const { webhookAllowPrivate: allowPrivate, databaseDir } = config;
  const problems = new Problems({ ...shared, ...dependencies, databaseDir });
  const alerts = new AlertSender({
    ...{ ...shared, ...dependencies, problems, allowPrivate, authorities: trust.authorities },
    mail: MailSender.of(config, dependencies.clock, trust.authorities),
    task: singletonTasks.of('alerts'),
  });
  return { problems, alerts };
}

/** Builds the parts that load balancing uses. */
function buildEdge({ stores, events, scaling }: SharedParts, meter: CoreMeter, dependencies: Dependencies) {
  const { edge } = stores;
  const requests = new RequestMeter(meter.onRequests);
  const registry = new BackendRegistry({ edge, events, ...dependencies });
  const directory = new BackendDirectory({ edge, events, ...dependencies });
  const demands = new DemandWriter({
    edge,
    onWaiting: (endpointIds) => scaling.trigger(endpointIds),
    ...dependencies,
  });
  const writer = new RequestWriter({ requests: stores.requests, meter: requests, ...dependencies });
  return { requests, registry, directory, demands, services: [registry, directory, demands, writer] };
}

/** The parts of a replica. */
export type CoreParts = ReturnType<typeof buildParts>;
