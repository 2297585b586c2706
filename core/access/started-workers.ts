/**
 * Caches how many workers of an endpoint have started, for at most a second. The dynamic rate limit of
 * docs/reference/api.md#rate-limits grows with them.
 */
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';
import { LookupCache } from './lookup-cache.ts';

const VALID_MS = 1_000;
const ENDPOINTS_MAX = 20_000;
/** Most endpoints that one statement counts. */
const LOOKUPS_MAX = 500;

export class StartedWorkers {
  readonly #counts: LookupCache<number>;

  constructor(workers: Pick<Stores['workers'], 'countStarted'>, clock: Clock) {
    const lookups = new Batcher<string, number>({
      name: 'started workers',
      clock,
      itemsMax: LOOKUPS_MAX,
      waitingMax: ENDPOINTS_MAX,
      flush: (endpointIds) => workers.countStarted(endpointIds),
    });
    this.#counts = new LookupCache({
      load: (endpointId) => lookups.add(endpointId),
      validMs: VALID_MS,
      sizeMax: ENDPOINTS_MAX,
      clock,
    });
  }

  /** Returns the number of an endpoint's started workers, busy and idle ones. */
  async count(endpointId: string): Promise<number> {
    return (await this.#counts.get(endpointId)).value ?? 0;
  }
}
