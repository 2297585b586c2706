/**
 * Builds dispatch and scaling of a replica: slots, sessions, the delivery of claims to workers, and the number of
 * workers.
 */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import type { Sealer } from '@slipway/kit/host/seal';
import type { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { OpenCredentials } from './dispatch/agent-messages.ts';
import { AttemptAudit } from './dispatch/attempt-audit.ts';
import { DesiredImages } from './dispatch/desired/desired-images.ts';
import { DesiredLoop } from './dispatch/desired/desired-loop.ts';
import { DesiredSettings } from './dispatch/desired/desired-settings.ts';
import type { SecretResolver } from './dispatch/desired/secret-resolver.ts';
import { DispatchLoop } from './dispatch/dispatch-loop.ts';
import { ModelPeers } from './dispatch/model-peers.ts';
import { ContainerReports } from './dispatch/reports/container-reports.ts';
import { ExecutionTimes } from './dispatch/reports/execution-times.ts';
import { ModelReports } from './dispatch/reports/model-reports.ts';
import { PodReports } from './dispatch/reports/pod-reports.ts';
import { WorkerLogs } from './dispatch/reports/worker-logs.ts';
import { WorkerReports } from './dispatch/reports/worker-reports.ts';
import { returnOrphans } from './dispatch/return-orphans.ts';
import { LeaseRenewer } from './dispatch/session/lease-renewer.ts';
import type { SessionContext } from './dispatch/session/session-context.ts';
import { SessionTable } from './dispatch/session-table.ts';
import { SlotPool } from './dispatch/slot-pool.ts';
import { chosenScaler } from './domain/scaling/scale-target.ts';
import type { CoreEvents } from './events/core-events.ts';
import type { AttemptCalls } from './jobs/job-engine.ts';
import { LiveJobs } from './jobs/live-jobs.ts';
import type { ClaimedJob } from './jobs/slots.ts';
import type { ScaleMeter } from './scaling/scaling-service.ts';
import { ScalingService } from './scaling/scaling-service.ts';
import type { WorkerStart } from './store/machines/worker-starts.ts';
import type { WorkerFacts } from './store/machines/worker-store.ts';
import type { Stores } from './store/storage.ts';

interface DispatchOptions {
  machines: Stores['machines'];
  gpuHealth: Stores['gpuHealth'];
  ephemeral: Stores['ephemeral'];
  workers: Stores['workers'];
  running: Stores['running'];
  scales: Stores['scales'];
  podReports: Stores['podReports'];
  images: Stores['images'];
  pools: Stores['pools'];
  cachedModels: Stores['cachedModels'];
  events: CoreEvents;
  /** Singleton task that resyncs scaling. */
  task: SingletonTask;
  openCredentials: OpenCredentials;
  secrets: SecretResolver;
  sealer: Sealer;
  /** Address of the hub that models come from. */
  modelHub: string;
  /** Counts batches of leases. */
  batches: BatchMeter;
  /** Metrics of reconciles. */
  scaleMeter: ScaleMeter;
  /** Called when workers became ready. Default: not called. */
  onStarts?: ((starts: readonly WorkerStart[]) => void) | undefined;
  /** Returns for how many milliseconds facades and edges have been able to report their demand. */
  linksStableMs(): number;
  /** Returns the address at which other replicas reach this one. */
  replicaAddress(): string;
  activity: ActivityMonitor;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Callbacks of a slot pool, which is built before its engine. */
interface SlotWiring {
  live: LiveJobs;
  pool: SlotPool;
  times: ExecutionTimes;
  /** Called when a worker of an endpoint can take jobs. Set once the engine and the loop exist. */
  onCapacity(endpointId: string): void;
  onOrphans(jobs: readonly ClaimedJob[]): void;
}

/**
 * Builds the slot pool. The engine needs the slots and dispatch needs the engine, so the slots come first and get their
 * callbacks later.
 */
export function buildSlots(): SlotWiring {
  const live = new LiveJobs();
  const wiring: SlotWiring = {
    live,
    pool: new SlotPool(live, {
      onCapacity: (endpointId) => wiring.onCapacity(endpointId),
      onOrphans: (jobs) => wiring.onOrphans(jobs),
    }),
    times: new ExecutionTimes(),
    onCapacity: () => undefined,
    onOrphans: () => undefined,
  };
  return wiring;
}

/** Builds dispatch and scaling. Nothing runs before the services are started. */
export function buildDispatch(slots: SlotWiring, attempts: AttemptCalls, options: DispatchOptions) {
  const { machines, workers, running, scales, podReports, images, events, openCredentials, secrets, linksStableMs } =
    options;
  const { activity, clock, random, logger } = options;
  const { live, pool, times } = slots;
  const shared = { activity, clock, random, logger };
  const table = new SessionTable({ events, ...shared });
  const loop = new DispatchLoop({ pool, attempts, times, events, ...shared });
  slots.onCapacity = (endpointId) => loop.trigger(endpointId);
  slots.onOrphans = (jobs) => table.own(returnOrphans(attempts, jobs, logger));
  const scaling = new ScalingService({
    store: scales,
    scaler: chosenScaler,
    events,
    task: options.task,
    hasWorker: (endpointId) => pool.hasWorker(endpointId),
    onDesired: (machineIds) => events.emit('desired', machineIds),
    meter: options.scaleMeter,
    linksStableMs,
    ...shared,
  });
  const onCapacity = (machineId: string): void => events.emit('capacity', [machineId]);
  const reports = new WorkerReports({
    workers,
    ...{ onCapacity, onOffloaded: (machineId: string) => events.emit('desired', [machineId]) },
    onChanged: (endpointIds) => scaling.trigger(endpointIds),
    onBackends: (endpointIds) => events.emit('rotation', endpointIds),
    holds: (workerId) => pool.heldBy(workerId).length > 0,
    onStarts: options.onStarts,
    ...shared,
  });
  const desiredImages = new DesiredImages({ images, machines, openCredentials, sessions: () => table.all(), clock });
  const settings = new DesiredSettings({ pools: options.pools, sessions: () => table.all(), clock });
  const ofMachines = { table, workers, podReports, images: desiredImages, settings, modelHub: options.modelHub };
  const desired = new DesiredLoop({
    ...ofMachines,
    events,
    openCredentials,
    secrets,
    onNotStarted: ({ machineId, id: sessionId }, workerId, reason) =>
      reports.changed({ machineId, sessionId }, notStarted(workerId, reason)),
    linksStableMs,
    ...shared,
  });
  const audit = new AttemptAudit({ table, pool, workers, running, attempts, live, ...shared });
  const pods = new PodReports({ podReports, ...shared });
  const containers = new ContainerReports({ images, ...shared });
  const logs = new WorkerLogs(table, clock);
  const drain = async (workerId: string, machineId: string): Promise<void> => {
    const endpointId = await scales.drainOne(workerId, machineId);
    events.emit('desired', [machineId]);
    if (endpointId !== undefined) scaling.trigger([endpointId]);
  };
  const sessions: SessionContext = {
    ...{ table, pool, times, machines, workers, running, attempts, reports, pods, containers, desired, live },
    ...buildModels(options),
    ...{ gpuHealth: options.gpuHealth, ephemeral: options.ephemeral, replicaAddress: options.replicaAddress },
    ...{ onCapacity, onDrained: (endpointIds: readonly string[]) => scaling.trigger(endpointIds) },
    ...shared,
    leases: new LeaseRenewer(machines, options.clock, options.batches),
    onLogReply: (machineId, reply) => logs.answer(machineId, reply),
    onRefresh: (workerId, machineId) => {
      const onFailure = (error: unknown): void =>
        logger.warn({ err: error, workerId, machineId }, 'a worker that asked for its replacement was not drained');
      table.own(drain(workerId, machineId).catch(onFailure));
    },
  };
  return { sessions, table, loop, scaling, reports, pods, containers, models: sessions.models, desired, audit, logs };
}

/** Builds the parts for models that machines keep. */
function buildModels({ cachedModels, sealer, clock, random, logger }: DispatchOptions) {
  return {
    models: new ModelReports({ cachedModels, clock, random, logger }),
    modelPeers: new ModelPeers({ cachedModels, sealer, clock }),
  };
}

/** Returns the facts of a worker that its agent is not asked to start. */
function notStarted(workerId: string, reason: string): WorkerFacts {
  return {
    workerId,
    state: 'UNHEALTHY',
    capacity: 0,
    reason,
    exitCode: null,
    sdkVersion: '',
    address: '',
    health: '',
    singleUse: false,
  };
}
