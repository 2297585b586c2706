/**
 * Tracks requests that facades and edges rejected by rate limits within the last minute, for explanations. Bounded:
 * the oldest entries are dropped first.
 */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { LRUCache } from 'lru-cache';
import type { RefusedRequests } from '../domain/reports/refused-requests.ts';
import { isOfAccount, refusedLimit } from '../domain/reports/refused-requests.ts';
import type { ScaleLimit } from '../domain/scaling/scale-target.ts';

/** Time for which rejections are reported after the first of them, in milliseconds. */
export const REJECTIONS_VALID_MS = 60_000;
/** Most endpoints and accounts that are tracked. */
const ENTRIES_MAX = 10_000;

/** Rejections by limit and operation, so that an entry stays small. */
type Rejections = Map<string, RefusedRequests>;

export class RejectionTracker {
  // An entry expires this long after its first write, however often it is written.
  readonly #entries: LRUCache<string, Rejections>;
  readonly #windowSeconds: number;

  /** `windowSeconds`: window of the rate limits. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, windowSeconds: number) {
    this.#windowSeconds = windowSeconds;
    this.#entries = boundedCache(ENTRIES_MAX, {
      ttl: REJECTIONS_VALID_MS,
      ttlResolution: 0,
      noUpdateTTL: true,
      perf: { now: () => clock.monotonicMs() },
    });
  }

  /** Adds rejected requests. */
  add(accountId: string, endpointId: string, refused: RefusedRequests): void {
    const name = isOfAccount(refused.limit) ? accountName(accountId) : endpointName(endpointId);
    const entry: Rejections = this.#entries.get(name) ?? new Map();
    const key = `${refused.limit} ${refused.operation}`;
    entry.set(key, { ...refused, count: refused.count + (entry.get(key)?.count ?? 0) });
    this.#entries.set(name, entry);
  }

  /** Returns the limits that rejected requests to an endpoint of an account. */
  of(accountId: string, endpointId: string): ScaleLimit[] {
    return [...this.ofEndpoint(endpointId), ...this.ofAccount(accountId)];
  }

  /** Returns the endpoint's own limits that rejected requests. */
  ofEndpoint(endpointId: string): ScaleLimit[] {
    return this.#limitsOf(endpointName(endpointId));
  }

  /** Returns the account's limits that rejected requests. */
  ofAccount(accountId: string): ScaleLimit[] {
    return this.#limitsOf(accountName(accountId));
  }

  #limitsOf(name: string): ScaleLimit[] {
    return [...(this.#entries.get(name)?.values() ?? [])].map((refused) => refusedLimit(refused, this.#windowSeconds));
  }
}

function endpointName(id: string): string {
  return `endpoint ${id}`;
}

function accountName(id: string): string {
  return `account ${id}`;
}
