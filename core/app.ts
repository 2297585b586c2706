/** Builds the core process by hand and lists its services in start order. */

import { activityReporter } from '@slipway/kit/host/notify-supervisor';
import { ActivityMonitor } from '@slipway/kit/lifecycle/activity';
import type { Service } from '@slipway/kit/lifecycle/service';
import { networkTransport } from '@slipway/kit/net/channel';
import { MetricsServer } from '@slipway/kit/net/metrics-server';
import { systemClock, systemRandom } from '@slipway/kit/time/clock';
import { Stability } from '@slipway/kit/time/stability';
import { buildParts, type ReplicaFacts } from './build-parts.ts';
import { buildServer } from './build-server.ts';
import type { CoreConfig } from './config.ts';
import { sealerOf } from './config.ts';
import type { CoreDependencies, Dependencies } from './core-dependencies.ts';
import { CoreCertificates } from './joining/core-certificates.ts';
import { Replica } from './replica.ts';
import { CORE_VERSION } from './reports/core-version.ts';
import { Health } from './rpc/server/health.ts';
import type { RpcServer } from './rpc/server/server.ts';
import type { MigratingRelease } from './store/sql/migrate.ts';
import type { Storage } from './store/storage.ts';
import { openStorage } from './store/storage.ts';

export type { CoreDependencies } from './core-dependencies.ts';

/** A core replica that is built and not started. */
interface Core {
  /**
   * Resolves when it serves. Returns its first address, its first one by TLS (empty: none), and the address of its
   * metrics (empty: none).
   */
  start(): Promise<{ address: string; secureAddress: string; metrics: string }>;
  /** Stops everything in order. Idempotent, and allowed at any time. */
  stop(): Promise<void>;
  /** Reports to the launcher, from now on, when something happens. */
  reportActivity(): void;
  /** Its parts in the order in which they start. */
  readonly services: readonly Service[];
}

/** Returns a service that makes a call at its place in the start order. */
function atStart(name: string, call: () => void): Service {
  return { name, start: async () => call(), stop: async () => undefined };
}

/** Stops a service earlier than the start order would. */
function endEarly(service: Service): Service {
  return { name: `${service.name} (end)`, start: async () => undefined, stop: () => service.stop() };
}

const coreTransport = networkTransport({ name: 'core', version: CORE_VERSION });

function withDefaults(given: CoreDependencies): Dependencies {
  const environment = { clock: systemClock, random: systemRandom, transport: coreTransport, ...given };
  return { ...environment, activity: new ActivityMonitor(environment.clock) };
}

/** Builds a replica. Several replicas in one process share nothing. */
export function buildCore(config: CoreConfig, given: CoreDependencies): Core {
  const dependencies = withDefaults(given);
  const { logger, activity } = dependencies;
  const sealer = sealerOf(config);
  const options = { release: releaseOf(config), ...config, ...dependencies };
  const storage = openStorage(config.databaseUrl, sealer, logger, options);
  const health = new Health({ ...storage, ...dependencies });
  const stability = new Stability(dependencies.clock);
  const onCheck = (answers: boolean): void => {
    health.reportDatabase(answers);
    stability.record(answers);
  };
  const openChannel: Storage['openChannel'] = (options) => storage.openChannel({ ...options, onCheck });
  const { authorities } = storage.stores;
  const certificates = new CoreCertificates({ config, authorities, ...dependencies });
  const own: ReplicaFacts = {
    replicaAddress: () => replicaAddress(config, server),
    secureAddresses: () => server.secureAddresses,
    certificates,
    linksStableMs: () => stability.forMs,
  };
  const parts = buildParts({ ...storage, openChannel }, sealer, config, dependencies, own);
  const { server, jobCalls, edgeStreams, envoyStreams, refusals } = buildServer(parts, health, config, dependencies);
  const measures = new MetricsServer({ listen: config.metricsListen, metrics: parts.metrics, logger });
  const { table, loop, scaling, reports, pods, containers, models, desired, audit } = parts.dispatch;
  const resigns: Service = {
    name: 'singleton tasks (end)',
    start: async () => undefined,
    stop: async () => parts.singletonTasks.resign(),
  };
  // Services stop from last to first: no new traffic, singleton tasks move to other replicas, claims stop, waits end,
  // agents leave, calls end.
  const early = [endEarly(table), endEarly(loop), resigns] as const;
  const services = [
    ...[storage.primaryWatch, parts.tracing].filter((service) => service !== undefined),
    ...parts.engine.services,
    parts.batches.runner,
    parts.alerts,
    reports,
    pods,
    containers,
    models,
    desired,
    audit,
    scaling,
    ...parts.edge.services,
    table,
    loop,
    certificates,
    parts.trust.watch,
    ...[measures, refusals, server, atStart('stability', () => stability.listens()), parts.registry],
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
    reportActivity: () => void activity.onMark(activityReporter(dependencies.clock)),
    services: services.filter((service) => !early.includes(service)),
    start: async () => {
      await replica.start();
      return { address: server.address, secureAddress: server.secureAddress, metrics: measures.address };
    },
    stop: () => replica.stop(),
  };
}

function releaseOf({ allowNewerDatabase }: CoreConfig): MigratingRelease {
  return { version: CORE_VERSION, allowNewer: allowNewerDatabase };
}

/** Returns where other replicas reach this one: by TLS, wherever it speaks TLS. */
function replicaAddress({ advertise }: CoreConfig, server: RpcServer): string {
  const own = server.secureAddress || server.address;
  if (advertise === '') return own;
  return own.startsWith('grpcs://') ? `grpcs://${advertise}` : advertise;
}
