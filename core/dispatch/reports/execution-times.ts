/**
 * How long the latest executions of each endpoint took, as agents say. In memory of this replica: without it nothing is
 * handed over ahead. A long one ends what was known: a few short ones are enough to forget the first of these, twice as
 * many each time that another follows soon.
 */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import { MEASURED_MAX, MEASURED_MIN, SHORT_MS_MAX } from '../../domain/jobs/prefetch.ts';

/** Endpoints that are remembered. */
const ENDPOINTS_MAX = 10_000;
/** After so many short ones in a row nothing is held against the endpoint. */
const FORGIVEN = 1_000;

interface Times {
  ms: number[];
  /** Short ones since the last long one. */
  count: number;
  /** So many it takes before they count. */
  needed: number;
}

export class ExecutionTimes {
  readonly #byEndpoint = boundedCache<string, Times>(ENDPOINTS_MAX);

  /** An execution ended after so many milliseconds. */
  learn(endpointId: string, ms: number): void {
    if (ms > SHORT_MS_MAX) return this.doubt(endpointId);
    const times = this.#of(endpointId);
    times.ms[times.count % MEASURED_MAX] = ms;
    times.count += 1;
    if (times.count >= FORGIVEN) times.needed = MEASURED_MIN;
  }

  /**
   * One took long, was lost or stopped, or takes longer than expected: how long the next will take has to be seen anew.
   */
  doubt(endpointId: string): void {
    const times = this.#of(endpointId);
    if (times.count > 0) times.needed = Math.min(times.needed * 2, MEASURED_MAX);
    times.ms = [];
    times.count = 0;
  }

  /** The latest in milliseconds, once they are enough. */
  of(endpointId: string): readonly number[] {
    const times = this.#byEndpoint.get(endpointId);
    return times && times.count >= times.needed ? times.ms : [];
  }

  #of(endpointId: string): Times {
    let times = this.#byEndpoint.get(endpointId);
    if (times) return times;
    this.#byEndpoint.set(endpointId, (times = { ms: [], count: 0, needed: MEASURED_MIN }));
    return times;
  }
}
