/** Caches the endpoint settings that submissions and outcomes need, so that the hot path sends no extra query. */

import { Batcher } from '@slipway/kit/bytes/batcher';
import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import type { Clock } from '@slipway/kit/time/clock';
import { DomainError } from '../../domain/settings/errors.ts';
import type { CoreEvents } from '../../events/core-events.ts';
import type { EndpointFacts } from '../../store/jobs/count-store.ts';
import type { Stores } from '../../store/storage.ts';

/**
 * Age in milliseconds at which an entry is refreshed in the background; past `USABLE_MS` it is refreshed before use.
 * Changes are also announced.
 */
const FRESH_MS = 1_000;
const USABLE_MS = 5_000;
/** Most cached endpoints. */
const ENTRIES_MAX = 20_000;
/** Endpoints of one statement, and endpoints that may wait to be read. */
const BATCH_MAX = 500;
const WAITING_MAX = 50_000;

interface Entry {
  facts: EndpointFacts;
  readAtMs: number;
}

export class EndpointFactsCache {
  readonly #lookups: Batcher<string, EndpointFacts | undefined>;
  readonly #clock: Clock;
  readonly #entries = boundedCache<string, Entry>(ENTRIES_MAX);
  /** Reads in flight. A read that was removed began before a change: its result must not be cached. */
  readonly #reads = new Map<string, Promise<EndpointFacts | undefined>>();

  constructor({ stores, events, clock }: { stores: Pick<Stores, 'counts'>; events: CoreEvents; clock: Clock }) {
    const flush = (endpointIds: readonly string[]): Promise<(EndpointFacts | undefined)[]> =>
      stores.counts.endpointFacts(endpointIds);
    this.#lookups = new Batcher({ name: 'endpoint facts', clock, itemsMax: BATCH_MAX, waitingMax: WAITING_MAX, flush });
    this.#clock = clock;
    events.on('endpoints', (endpointIds) => {
      for (const id of endpointIds) this.#forget(id);
    });
  }

  /**
   * Returns an endpoint's settings, at most 5 s old; without a promise if they are cached. Throws ENDPOINT_NOT_FOUND.
   */
  get(endpointId: string): EndpointFacts | Promise<EndpointFacts> {
    const entry = this.#entries.get(endpointId);
    const ageMs = entry === undefined ? Infinity : this.#clock.monotonicMs() - entry.readAtMs;
    if (entry === undefined || ageMs > USABLE_MS) return this.#read(endpointId);
    // A background failure is ignored: the entry becomes too old and the next reader gets the error.
    if (ageMs > FRESH_MS) this.#read(endpointId).catch(() => {});
    return entry.facts;
  }

  #forget(endpointId: string): void {
    this.#entries.delete(endpointId);
    this.#reads.delete(endpointId);
  }

  async #read(endpointId: string): Promise<EndpointFacts> {
    let read = this.#reads.get(endpointId);
    if (!read) this.#reads.set(endpointId, (read = this.#fetch(endpointId)));
    const facts = await read;
    if (!facts)
      throw new DomainError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))}.`);
    return facts;
  }

  #fetch(endpointId: string): Promise<EndpointFacts | undefined> {
    const isCurrent = (): boolean => this.#reads.get(endpointId) === read;
    const read = this.#lookups
      .add(endpointId)
      .then((facts) => {
        if (isCurrent() && facts) this.#entries.set(endpointId, { facts, readAtMs: this.#clock.monotonicMs() });
        if (isCurrent() && !facts) this.#entries.delete(endpointId);
        return facts;
      })
      .finally(() => {
        if (isCurrent()) this.#reads.delete(endpointId);
      });
    return read;
  }
}
