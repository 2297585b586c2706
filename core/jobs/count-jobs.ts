/** Counts the jobs and workers of endpoints, at most a few times a second however often it is asked. */
import { LRUCache } from 'lru-cache';
import { DomainError } from '../domain/errors.ts';
import { NO_WORKERS_REFUSAL } from '../domain/placement-refusal.ts';
import type { PlacementRefusal } from '../domain/placement-refusal.ts';
import type { Clock } from '../runtime/clock.ts';
import type { HealthRow } from '../store/count-store.ts';
import type { Stores } from '../store/storage.ts';
import type { EndpointHealth } from './job-engine.ts';

/** Counts are shown again for this many milliseconds, or ten times as long as counting takes, up to the other. */
const FRESH_MS = 200;
const FRESH_MS_MAX = 5_000;
const ENTRIES_MAX = 10_000;

interface Entry {
  health: Promise<EndpointHealth>;
  usableUntilMs: number;
}

export class CountJobs {
  readonly #counts: Stores['counts'];
  readonly #clock: Clock;
  readonly #entries = new LRUCache<string, Entry>({ max: ENTRIES_MAX });

  constructor({ counts }: Pick<Stores, 'counts'>, clock: Clock) {
    this.#counts = counts;
    this.#clock = clock;
  }

  /** ENDPOINT_NOT_FOUND: no such endpoint. */
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
    entry.health.then(done, () => { this.#entries.delete(endpointId); });
    return entry.health;
  }

  async #read(endpointId: string): Promise<EndpointHealth> {
    const row = await this.#counts.health(endpointId);
    if (!row) throw new DomainError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))}.`);
    const refusal = refusalOf(row);
    return {
      ...(refusal ? { refusal } : {}),
      jobs: { completed: row.completed, failed: row.failed, inProgress: row.in_progress, inQueue: row.in_queue, retried: row.retried },
      workers: {
        idle: row.idle, running: row.running, initializing: row.initializing, ready: row.ready, throttled: throttled(row), unhealthy: row.unhealthy,
      },
    };
  }
}

/** Why jobs wait for workers that there cannot be. */
function refusalOf({ decided_throttled: throttledWorkers, refusal, refusal_by_machine: refusalByMachine, ...row }: HealthRow): PlacementRefusal | undefined {
  if (row.workers_max === 0 && row.in_queue > 0) return NO_WORKERS_REFUSAL;
  return throttledWorkers > 0 ? { refusal, refusalByMachine } : undefined;
}

/** Workers that found no place at the last decision, or that there should be at the least and are not, because it has not passed yet. */
function throttled(row: HealthRow): number {
  const wanted = Math.min(row.workers_max, Math.max(row.workers_min, row.in_queue > 0 ? 1 : 0));
  return Math.max(0, wanted - row.present, row.decided_throttled);
}
