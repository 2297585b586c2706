/** Remembers what submissions and outcomes need of their endpoints, so that the hot path asks the database for nothing extra. */
import { LRUCache } from 'lru-cache';
import { DomainError } from '../domain/errors.ts';
import type { Clock } from '../runtime/clock.ts';
import { readEndpointFacts } from '../store/count-store.ts';
import type { EndpointFacts } from '../store/count-store.ts';
import type { Database } from '../store/database.ts';

/** Read again in the background after this many milliseconds, and before use after the other. A change is also announced. */
const FRESH_MS = 1_000;
const USABLE_MS = 5_000;
/** Most endpoints that are remembered. */
const ENTRIES_MAX = 10_000;

interface Entry {
  facts: EndpointFacts;
  readAtMs: number;
}

/** See the file's first line. */
export class EndpointFactsCache {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #entries = new LRUCache<string, Entry>({ max: ENTRIES_MAX });
  readonly #reads = new Map<string, Promise<EndpointFacts>>();
  /** Rises with every invalidation: a read that began before must not be remembered. */
  #epoch = 0;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** The facts, at most 5 s old; at once when they are remembered. ENDPOINT_NOT_FOUND: no such endpoint. */
  get(endpointId: string): EndpointFacts | Promise<EndpointFacts> {
    const entry = this.#entries.get(endpointId);
    const ageMs = entry === undefined ? Infinity : this.#clock.monotonicMs() - entry.readAtMs;
    if (entry === undefined || ageMs > USABLE_MS) return this.#read(endpointId);
    // Failing in the background is fine: the entry gets too old and the next reader meets the failure.
    if (ageMs > FRESH_MS) this.#read(endpointId).catch(() => {});
    return entry.facts;
  }

  /** Forgets everything. */
  clear(): void {
    this.#epoch += 1;
    this.#entries.clear();
    this.#reads.clear();
  }

  #read(endpointId: string): Promise<EndpointFacts> {
    const running = this.#reads.get(endpointId);
    if (running) return running;
    const read = this.#fetch(endpointId, this.#epoch).finally(() => {
      if (this.#reads.get(endpointId) === read) this.#reads.delete(endpointId);
    });
    this.#reads.set(endpointId, read);
    return read;
  }

  async #fetch(endpointId: string, epoch: number): Promise<EndpointFacts> {
    const facts = await readEndpointFacts(this.#database.sql, endpointId);
    if (epoch === this.#epoch) this.#entries.delete(endpointId);
    if (!facts) throw new DomainError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))}.`);
    if (epoch === this.#epoch) this.#entries.set(endpointId, { facts, readAtMs: this.#clock.monotonicMs() });
    return facts;
  }
}
