/**
 * Counts normal requests that this replica stores for endpoints with batches. The store learns of arrivals every ten
 * seconds only, and until then a batch would use all slots.
 */
import type { Clock } from '@slipway/kit/time/clock';
import { ARRIVALS_SECONDS } from '../domain/batches/slot-use.ts';

/** Requests of ten seconds. */
interface Count {
  sinceMs: number;
  requests: number;
}

const COUNT_MS = 10_000;
const KEPT_MS = ARRIVALS_SECONDS * 1_000;

export class ArrivalRecorder {
  readonly #clock: Clock;
  /** Counts of each watched endpoint, oldest first, and when it was last asked for. */
  readonly #watched = new Map<string, { counts: Count[]; askedMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns whether a batch uses this endpoint. */
  watches(endpointId: string): boolean {
    return this.#watched.has(endpointId);
  }

  /** Counts requests to an endpoint. Returns true for the first ones since a minute. */
  record(endpointId: string, requests: number): boolean {
    const watched = this.#watched.get(endpointId);
    if (!watched) return false;
    const nowMs = this.#clock.monotonicMs();
    const counts = recent(watched.counts, nowMs);
    const last = counts.at(-1);
    if (last && nowMs - last.sinceMs < COUNT_MS) last.requests += requests;
    else counts.push({ sinceMs: nowMs, requests });
    watched.counts = counts;
    return last === undefined;
  }

  /** Returns the requests of the last minute to an endpoint, and watches it from now on. */
  count(endpointId: string): number {
    const nowMs = this.#clock.monotonicMs();
    for (const [id, { askedMs }] of this.#watched) if (nowMs - askedMs > KEPT_MS) this.#watched.delete(id);
    const counts = recent(this.#watched.get(endpointId)?.counts ?? [], nowMs);
    this.#watched.set(endpointId, { counts, askedMs: nowMs });
    return counts.reduce((sum, { requests }) => sum + requests, 0);
  }
}

function recent(counts: readonly Count[], nowMs: number): Count[] {
  return counts.filter(({ sinceMs }) => nowMs - sinceMs < KEPT_MS);
}
