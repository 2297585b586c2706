/** What facades and edges refused by rate limits within the last minute, for explanations. Forgets by itself, and the oldest first where there is too much. */
import type { LRUCache } from 'lru-cache';
import { isOfAccount, refusedLimit } from '../domain/refused-requests.ts';
import type { RefusedRequests } from '../domain/refused-requests.ts';
import type { ScaleLimit } from '../domain/scale-target.ts';
import { boundedCache } from '../runtime/bounded-cache.ts';
import type { Clock } from '../runtime/clock.ts';

/** How long refusals are told after the first of them, in milliseconds. */
export const REJECTIONS_VALID_MS = 60_000;
/** Endpoints and accounts that are remembered. */
const ENTRIES_MAX = 10_000;

/** By limit and operation: so an entry is as small as the contract. */
type Rejections = Map<string, RefusedRequests>;

export class RejectionTracker {
  // An entry ends so long after it began, however often it is written.
  readonly #entries: LRUCache<string, Rejections>;
  readonly #windowSeconds: number;

  /** `windowSeconds`: in which requests count for a rate. */
  constructor(clock: Pick<Clock, 'monotonicMs'>, windowSeconds: number) {
    this.#windowSeconds = windowSeconds;
    this.#entries = boundedCache(ENTRIES_MAX, { ttl: REJECTIONS_VALID_MS, ttlResolution: 0, noUpdateTTL: true, perf: { now: () => clock.monotonicMs() } });
  }

  /** Adds to what was refused. */
  add(accountId: string, endpointId: string, refused: RefusedRequests): void {
    const name = isOfAccount(refused.limit) ? accountName(accountId) : endpointName(endpointId);
    const entry: Rejections = this.#entries.get(name) ?? new Map();
    const key = `${refused.limit} ${refused.operation}`;
    entry.set(key, { ...refused, count: refused.count + (entry.get(key)?.count ?? 0) });
    this.#entries.set(name, entry);
  }

  /** What bound requests to an endpoint of an account. */
  of(accountId: string, endpointId: string): ScaleLimit[] {
    return [...this.ofEndpoint(endpointId), ...this.ofAccount(accountId)];
  }

  /** What bound requests to an endpoint by limits of its own. */
  ofEndpoint(endpointId: string): ScaleLimit[] {
    return this.#limitsOf(endpointName(endpointId));
  }

  /** What bound requests to all endpoints of an account. */
  ofAccount(accountId: string): ScaleLimit[] {
    return this.#limitsOf(accountName(accountId));
  }

  #limitsOf(name: string): ScaleLimit[] {
    return [...this.#entries.get(name)?.values() ?? []].map((refused) => refusedLimit(refused, this.#windowSeconds));
  }
}

function endpointName(id: string): string {
  return `endpoint ${id}`;
}

function accountName(id: string): string {
  return `account ${id}`;
}
