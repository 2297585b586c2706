/** Counts the jobs and workers of endpoints. Caches counts, so that frequent calls cost a few statements a second. */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { PlacementRefusal } from '../../domain/scaling/placement-refusal.ts';
import { NO_WORKERS_REFUSAL } from '../../domain/scaling/placement-refusal.ts';
import { countHealth } from '../../domain/scaling/worker-counts.ts';
import { DomainError } from '../../domain/settings/errors.ts';
import type { EndpointCounts } from '../../store/jobs/count-store.ts';
import type { Stores } from '../../store/storage.ts';
import type { EndpointHealth } from './endpoint-health.ts';

/** Counts are reused for this many milliseconds, or for ten times as long as counting takes, up to `FRESH_MS_MAX`. */
const FRESH_MS = 200;
const FRESH_MS_MAX = 5_000;
const ENTRIES_MAX = 10_000;

/** Reads which endpoints no machine could ever run, and why. */
export interface CannotRunReader {
  of(endpointIds: readonly string[]): Promise<ReadonlyMap<string, PlacementRefusal>>;
}

interface Entry {
  health: Promise<EndpointHealth>;
  usableUntilMs: number;
}

export class CountJobs {
  readonly #counts: Stores['counts'];
  readonly #cannotRun: CannotRunReader;
  readonly #clock: Clock;
  readonly #entries = boundedCache<string, Entry>(ENTRIES_MAX);

  constructor({ counts }: Pick<Stores, 'counts'>, cannotRun: CannotRunReader, clock: Clock) {
    this.#counts = counts;
    this.#cannotRun = cannotRun;
    this.#clock = clock;
  }

  /** Returns the counts of an endpoint. Throws ENDPOINT_NOT_FOUND. */
  count(endpointId: string): Promise<EndpointHealth> {
    const known = this.#entries.get(endpointId);
    if (known && this.#clock.monotonicMs() < known.usableUntilMs) return known.health;
    const entry: Entry = { health: this.#read(endpointId), usableUntilMs: Infinity };
    this.#entries.set(endpointId, entry);
    const startedAtMs = this.#clock.monotonicMs();
    const done = (): void => {
      const nowMs = this.#clock.monotonicMs();
      entry.usableUntilMs = nowMs + Math.min(Math.max(FRESH_MS, (nowMs - startedAtMs) * 10), FRESH_MS_MAX);
    };
    entry.health.then(done, () => {
      this.#entries.delete(endpointId);
    });
    return entry.health;
  }

  async #read(endpointId: string): Promise<EndpointHealth> {
    const [counted, nowhere] = await Promise.all([this.#counts.health(endpointId), this.#cannotRun.of([endpointId])]);
    if (!counted)
      throw new DomainError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))}.`);
    const { completed, failed, inProgress, inQueue, retried, decidedThrottled } = counted;
    const { present: _, ...workers } = countHealth(counted.workers, counted.type);
    const refusal = refusalOf(counted);
    const cannotRun = nowhere.get(endpointId);
    return {
      ...(refusal ? { refusal } : {}),
      ...(cannotRun ? { cannotRun } : {}),
      jobs: { completed, failed, inProgress, inQueue, retried },
      workers: { ...workers, throttled: decidedThrottled },
    };
  }
}

/** Returns why no worker can be placed for the queued jobs; `undefined` if nothing prevents it. */
function refusalOf({
  workersMax,
  inQueue,
  decidedThrottled,
  refusal,
  refusalByMachine,
}: EndpointCounts): PlacementRefusal | undefined {
  if (workersMax === 0 && inQueue > 0) return NO_WORKERS_REFUSAL;
  return decidedThrottled > 0 ? { refusal, refusalByMachine } : undefined;
}
