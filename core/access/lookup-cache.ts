/** Caches database lookups for some seconds, bounded in size, with one lookup in flight per key. */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { LRUCache } from 'lru-cache';

/** Settings of a lookup cache. */
interface LookupCacheOptions<Value> {
  /** Reads the value from the database. `undefined` (not found) is cached as well. */
  load(key: string): Promise<Value | undefined>;
  /** Validity of a value in milliseconds, counted from before the lookup. */
  validMs: number;
  /** Most values kept; the least recently used one is dropped first. */
  sizeMax: number;
  clock: Clock;
}

/** A value and its expiry in monotonic milliseconds. */
export interface Cached<Value> {
  value: Value | undefined;
  validUntilMs: number;
}

export class LookupCache<Value> {
  readonly #options: LookupCacheOptions<Value>;
  readonly #answers: LRUCache<string, Cached<Value>>;
  readonly #asking = new Map<string, Promise<Cached<Value>>>();

  constructor(options: LookupCacheOptions<Value>) {
    this.#options = options;
    this.#answers = boundedCache(options.sizeMax);
  }

  /** Returns the cached value, `undefined` if there is none. Synchronous, so that hot paths need not wait. */
  peek(key: string): Cached<Value> | undefined {
    const found = this.#answers.get(key);
    if (!found) return undefined;
    if (found.validUntilMs > this.#options.clock.monotonicMs()) return found;
    this.#answers.delete(key);
    return undefined;
  }

  /** Returns the value, from the database if the cache does not have it. */
  async get(key: string): Promise<Cached<Value>> {
    return this.peek(key) ?? this.#asking.get(key) ?? this.#ask(key);
  }

  /** Invalidates a key, including a lookup in flight: later calls read a newer value. */
  forget(key: string): void {
    this.#answers.delete(key);
    this.#asking.delete(key);
  }

  /** Drops every cached value that `matches`. */
  forgetWhere(matches: (value: Value) => boolean): void {
    const forgotten: string[] = [];
    for (const [key, { value }] of this.#answers) if (value !== undefined && matches(value)) forgotten.push(key);
    for (const key of forgotten) this.#answers.delete(key);
    this.#asking.clear();
  }

  #ask(key: string): Promise<Cached<Value>> {
    const validUntilMs = this.#options.clock.monotonicMs() + this.#options.validMs;
    const asking = this.#options
      .load(key)
      .then((value) => {
        const answer = { value, validUntilMs };
        if (this.#asking.get(key) === asking) this.#answers.set(key, answer);
        return answer;
      })
      .finally(() => {
        if (this.#asking.get(key) === asking) this.#asking.delete(key);
      });
    this.#asking.set(key, asking);
    return asking;
  }
}
