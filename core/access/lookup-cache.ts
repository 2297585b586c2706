/** A bounded cache of what the database said, for some seconds, with one question in flight per key. */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import type { LRUCache } from 'lru-cache';

/** How it works. */
export interface LookupCacheOptions<Value> {
  /** Asks the database. Undefined is an answer too and is kept as long. */
  load(key: string): Promise<Value | undefined>;
  /** How long an answer may be used, counted from before the question, in milliseconds. */
  validMs: number;
  /** Most answers kept; the one unused for longest goes first. */
  sizeMax: number;
  clock: Clock;
}

/** An answer and until when it may be used, on the monotonic clock. */
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

  /** The answer if it is at hand: synchronous, so that hot paths need not wait. */
  peek(key: string): Cached<Value> | undefined {
    const found = this.#answers.get(key);
    if (!found) return undefined;
    if (found.validUntilMs > this.#options.clock.monotonicMs()) return found;
    this.#answers.delete(key);
    return undefined;
  }

  /** The answer, asked for when it is not at hand. */
  async get(key: string): Promise<Cached<Value>> {
    return this.peek(key) ?? this.#asking.get(key) ?? this.#ask(key);
  }

  /** Forgets an answer, also one that is on its way: whoever asks from now on gets a newer one. */
  forget(key: string): void {
    this.#answers.delete(key);
    this.#asking.delete(key);
  }

  /** Forgets every answer that `matches`. */
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
