/** Gauges read from the database at each scrape, at most once a second. Every replica reports the same values. */
import type { BoundedNames } from '@slipway/kit/bytes/bounded-names';
import type { Metrics } from '@slipway/kit/observe/metrics';
import { CALL_SECONDS } from '@slipway/kit/observe/metrics';
import type { Clock } from '@slipway/kit/time/clock';
import type { EndpointLoad, FleetCounts } from '../store/reports/metric-store.ts';
import type { Stores } from '../store/storage.ts';

/** Milliseconds for which a reading is reused. */
const FRESH_MS = 1_000;

/** Dependencies of the gauges. */
interface FleetMetricsOptions {
  metrics: Metrics;
  store: Stores['metrics'];
  names: BoundedNames;
  /** Removes the series of a deleted endpoint. */
  forget(endpoint: string): void;
  clock: Clock;
}

/** Sums over the endpoints that share a label. */
interface Load extends Omit<EndpointLoad, 'id' | 'releaseHeld'> {
  /** Name of the endpoint; of several that share a label, the label. */
  workers: Record<string, number>;
  releasesHeld: number;
}

interface Fleet {
  counts: FleetCounts;
  loads: ReadonlyMap<string, Load>;
}

/** Registers the gauges. */
export function fleetMetrics(options: FleetMetricsOptions): void {
  const fleet = fleetReader(options);
  endpointGauges(options.metrics, fleet);
  endpointNames(options.metrics, fleet);
  databaseMetrics(options);
  machineGauges(options.metrics, fleet);
}

/** Returns a function that reads the fleet, at most once per FRESH_MS. */
function fleetReader({ store, names, forget, clock }: FleetMetricsOptions): () => Promise<Fleet> {
  let known: Promise<Fleet> | undefined;
  let readAtMs = -Infinity;
  const read = async (): Promise<Fleet> => {
    const counts = await store.fleet();
    for (const gone of names.keep(new Set(counts.endpoints.map(({ id }) => id)))) forget(gone);
    return { counts, loads: byLabel(counts.endpoints, names) };
  };
  return () => {
    const now = clock.monotonicMs();
    if (known && now - readAtMs < FRESH_MS) return known;
    readAtMs = now;
    known = read();
    known.catch(() => {
      known = undefined;
    });
    return known;
  };
}

function endpointGauges(metrics: Metrics, fleet: () => Promise<Fleet>): void {
  const each = (
    name: string,
    help: string,
    value: (load: Load) => Record<string, number>,
    label: 'state' | undefined,
  ): void => {
    metrics.gauge({ name, help, labels: label ? ['endpoint', label] : ['endpoint'] }, async (gauge) => {
      const { loads } = await fleet();
      gauge.reset();
      for (const [endpoint, load] of loads) {
        for (const [state, count] of Object.entries(value(load)))
          gauge.set(label ? { endpoint, state } : { endpoint }, count);
      }
    });
  };
  each(
    'slipway_core_jobs',
    'Unfinished jobs; for load-balancing endpoints requests.',
    (load) => ({ IN_QUEUE: load.queued, IN_PROGRESS: load.inProgress }),
    'state',
  );
  each(
    'slipway_core_queue_oldest_wait_seconds',
    'Age of the first job in the queue, 0 if it is empty.',
    (load) => ({ '': load.oldestWaitMs / 1_000 }),
    undefined,
  );
  each('slipway_core_workers', 'Workers that have not ended.', (load) => load.workers, 'state');
  each(
    'slipway_core_releases_held',
    'Releases on hold: their workers do not start, and an earlier version serves.',
    (load) => ({ '': load.releasesHeld }),
    undefined,
  );
}

/** Registers the series that names endpoints, whose other series have only ids. */
function endpointNames(metrics: Metrics, fleet: () => Promise<Fleet>): void {
  const help = 'Always 1: gives the name of an endpoint to a query that joins it by the label endpoint.';
  metrics.gauge({ name: 'slipway_core_endpoint_info', help, labels: ['endpoint', 'name'] }, async (gauge) => {
    const { loads } = await fleet();
    gauge.reset();
    for (const [endpoint, { name }] of loads) gauge.set({ endpoint, name }, 1);
  });
}

function databaseMetrics({ metrics, store, clock }: FleetMetricsOptions): void {
  const poolWait = metrics.histogram(
    {
      name: 'slipway_core_database_pool_wait_seconds',
      labels: ['pool'],
      help: 'How long statements waited for a connection of their pool.',
    },
    [0.0001, ...CALL_SECONDS],
  );
  store.onPoolWait((pool) => {
    const own = poolWait.labels({ pool });
    return (waitedMs) => own.observe(waitedMs / 1_000);
  });
  const waits = new Map<string, number>();
  let touchedAtMs = -Infinity;
  metrics.gauge(
    {
      name: 'slipway_core_database_probe_seconds',
      labels: ['pool'],
      help: 'Duration of an empty statement sent now, including the wait for a connection of its pool.',
    },
    async (gauge) => {
      const fromMs = clock.monotonicMs();
      if (fromMs - touchedAtMs >= FRESH_MS) {
        touchedAtMs = fromMs;
        await store.touchPools((pool) => waits.set(pool, clock.monotonicMs() - fromMs));
      }
      for (const [pool, ms] of waits) gauge.set({ pool }, ms / 1_000);
    },
  );
}

function machineGauges(metrics: Metrics, fleet: () => Promise<Fleet>): void {
  const machines = (
    name: string,
    help: string,
    value: (counts: FleetCounts['machines']) => Record<string, number>,
  ): void => {
    metrics.gauge({ name, help, labels: ['state'] }, async (gauge) => {
      for (const [state, count] of Object.entries(value((await fleet()).counts.machines))) gauge.set({ state }, count);
    });
  };
  const help = 'Machines seen in the last day; cordoned machines are also counted as connected or away.';
  machines('slipway_core_machines', help, ({ connected, away, cordoned }) => ({ connected, away, cordoned }));
  const gpus = 'GPUs of connected machines; those with a warning are also counted as used or free.';
  machines('slipway_core_gpus', gpus, ({ gpusUsed, gpusFree, gpusUnhealthy, gpusWarning }) => ({
    used: gpusUsed,
    free: gpusFree,
    unhealthy: gpusUnhealthy,
    warning: gpusWarning,
  }));
}

/** Sums the load by label. Endpoints without a label of their own share one; the longest of their waits counts. */
function byLabel(endpoints: readonly EndpointLoad[], names: BoundedNames): Map<string, Load> {
  const loads = new Map<string, Load>();
  for (const { id, name, queued, oldestWaitMs, inProgress, workers, releaseHeld } of endpoints) {
    const label = names.of(id);
    const shown = label === id ? name : label;
    const load = loads.get(label) ?? {
      name: shown,
      queued: 0,
      oldestWaitMs: 0,
      inProgress: 0,
      workers: {},
      releasesHeld: 0,
    };
    loads.set(label, load);
    load.queued += queued;
    load.oldestWaitMs = Math.max(load.oldestWaitMs, oldestWaitMs);
    load.inProgress += inProgress;
    load.releasesHeld += releaseHeld ? 1 : 0;
    for (const [state, count] of Object.entries(workers)) load.workers[state] = (load.workers[state] ?? 0) + count;
  }
  return loads;
}
