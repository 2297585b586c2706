/** Gauges over all that there is, read from the database when Prometheus reads, at most once a second: they are the same at every replica. */
import type { BoundedNames } from '../runtime/bounded-names.ts';
import type { Clock } from '../runtime/clock.ts';
import { CALL_SECONDS } from '../runtime/metrics.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { EndpointLoad, FleetCounts } from '../store/metric-store.ts';
import type { Stores } from '../store/storage.ts';

/** What was read is shown again for this many milliseconds. */
const FRESH_MS = 1_000;

/** What they are made of. */
export interface FleetMetricsOptions {
  metrics: Metrics;
  store: Stores['metrics'];
  names: BoundedNames;
  /** An endpoint is gone: whatever was counted of it goes. */
  forget(endpoint: string): void;
  clock: Clock;
}

/** Sums of those endpoints that share a label. */
interface Load extends Omit<EndpointLoad, 'id' | 'releaseHeld'> {
  workers: Record<string, number>;
  releasesHeld: number;
}

/** Makes them. */
export function fleetMetrics({ metrics, store, names, forget, clock }: FleetMetricsOptions): void {
  let known: Promise<{ counts: FleetCounts; loads: ReadonlyMap<string, Load> }> | undefined;
  let readAtMs = -Infinity;
  const read = async () => {
    const counts = await store.fleet();
    for (const gone of names.keep(new Set(counts.endpoints.map(({ id }) => id)))) forget(gone);
    return { counts, loads: byLabel(counts.endpoints, names) };
  };
  const fleet = () => {
    const now = clock.monotonicMs();
    if (known && now - readAtMs < FRESH_MS) return known;
    readAtMs = now;
    known = read();
    known.catch(() => { known = undefined; });
    return known;
  };
  const each = (name: string, help: string, value: (load: Load) => Record<string, number>, label: 'state' | undefined): void => {
    metrics.gauge({ name, help, labels: label ? ['endpoint', label] : ['endpoint'] }, async (gauge) => {
      const { loads } = await fleet();
      gauge.reset();
      for (const [endpoint, load] of loads) {
        for (const [state, count] of Object.entries(value(load))) gauge.set(label ? { endpoint, state } : { endpoint }, count);
      }
    });
  };
  each('slipway_core_jobs', 'Jobs that are not final; of load-balancing endpoints requests.', (load) => (
    { IN_QUEUE: load.queued, IN_PROGRESS: load.inProgress }
  ), 'state');
  each('slipway_core_queue_oldest_wait_seconds', 'How long the first job of the queue has waited, 0 where none waits.', (load) => (
    { '': load.oldestWaitMs / 1_000 }
  ), undefined);
  each('slipway_core_workers', 'Workers that have not ended.', (load) => load.workers, 'state');
  each('slipway_core_releases_held', 'Releases whose workers do not start while an earlier version serves.', (load) => (
    { '': load.releasesHeld }
  ), undefined);
  const machines = (name: string, help: string, value: (counts: FleetCounts['machines']) => Record<string, number>): void => {
    metrics.gauge({ name, help, labels: ['state'] }, async (gauge) => {
      for (const [state, count] of Object.entries(value((await fleet()).counts.machines))) gauge.set({ state }, count);
    });
  };
  const turns = metrics.histogram({
    name: 'slipway_core_database_turn_seconds', labels: ['pool'],
    help: 'How long statements waited until no other was before them on a connection of their pool.',
  }, [0.0001, ...CALL_SECONDS]);
  store.hearTurns((pool) => {
    const own = turns.labels({ pool });
    return (waitedMs) => own.observe(waitedMs / 1_000);
  });
  const waits = new Map<string, number>();
  let touchedAtMs = -Infinity;
  metrics.gauge({
    name: 'slipway_core_database_wait_seconds', labels: ['pool'],
    help: 'How long a statement that does nothing took just now, waiting for a connection of its pool included.',
  }, async (gauge) => {
    const fromMs = clock.monotonicMs();
    if (fromMs - touchedAtMs >= FRESH_MS) {
      touchedAtMs = fromMs;
      await store.touchPools((pool) => waits.set(pool, clock.monotonicMs() - fromMs));
    }
    for (const [pool, ms] of waits) gauge.set({ pool }, ms / 1_000);
  });
  machines('slipway_core_machines', 'Machines that were seen in the last day; cordoned ones are also connected or away.', ({ connected, away, cordoned }) => (
    { connected, away, cordoned }
  ));
  machines('slipway_core_gpus', 'GPUs of connected machines.', ({ gpusUsed, gpusFree, gpusUnhealthy }) => (
    { used: gpusUsed, free: gpusFree, unhealthy: gpusUnhealthy }
  ));
}

/** Those without a place of their own are together; of their waits the longest counts. */
function byLabel(endpoints: readonly EndpointLoad[], names: BoundedNames): Map<string, Load> {
  const loads = new Map<string, Load>();
  for (const { id, queued, oldestWaitMs, inProgress, workers, releaseHeld } of endpoints) {
    const label = names.of(id);
    const load = loads.get(label) ?? { queued: 0, oldestWaitMs: 0, inProgress: 0, workers: {}, releasesHeld: 0 };
    loads.set(label, load);
    load.queued += queued;
    load.oldestWaitMs = Math.max(load.oldestWaitMs, oldestWaitMs);
    load.inProgress += inProgress;
    load.releasesHeld += releaseHeld ? 1 : 0;
    for (const [state, count] of Object.entries(workers)) load.workers[state] = (load.workers[state] ?? 0) + count;
  }
  return loads;
}
