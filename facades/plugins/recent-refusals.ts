/** What rate limits refused within the last minute, for /explain. Forgets by itself, and the oldest first where there is too much of it. */
import { LRUCache } from 'lru-cache';
import type { ScaleLimit } from '../../proto/gen/slipway/v1/explanation.ts';

/** How long a limit is told after the first request that it refused, in milliseconds. */
const TOLD_MS = 60_000;
/** Accounts and endpoints that are remembered. */
const ENTRIES_MAX = 10_000;

/** What limit refused a request. */
export interface RefusedBy {
  limit: 'REQUEST_RATE' | 'REQUESTS_AT_ONCE' | 'REQUEST_QUOTA';
  /** What was asked for, as `requests to run`. */
  what: string;
  /** The limit in words. */
  most: string;
}

export class RecentRefusals {
  // An entry ends so long after it began, however often it is written.
  readonly #entries = new LRUCache<string, Map<string, RefusedBy & { count: number }>>({ max: ENTRIES_MAX, ttl: TOLD_MS, noUpdateTTL: true });

  /** One more was refused. `endpointId`: empty for a limit of the whole account. */
  add(accountId: string, endpointId: string, by: RefusedBy): void {
    const name = `${accountId} ${endpointId}`;
    const refusals = this.#entries.get(name) ?? new Map<string, RefusedBy & { count: number }>();
    const key = `${by.limit} ${by.what}`;
    refusals.set(key, { ...by, count: (refusals.get(key)?.count ?? 0) + 1 });
    this.#entries.set(name, refusals);
  }

  /** What binds an endpoint for callers of an account. */
  of(accountId: string, endpointId: string): ScaleLimit[] {
    return [...this.#entries.get(`${accountId} ${endpointId}`)?.values() ?? [], ...this.#entries.get(`${accountId} `)?.values() ?? []].map((by) => ({
      limit: by.limit, cut: 0, text: `more than ${by.most}: this facade refused (429) ${by.count} ${by.what} within the last minute`,
    }));
  }
}
