/**
 * Tracks the latest execution times of each endpoint, as agents report them, in memory of this replica. An endpoint
 * without times gets no prefetched jobs. One long execution discards the times. A few short executions restore them.
 * Each time that another long one follows soon, twice as many short ones are needed.
 */

import { boundedCache } from '@slipway/kit/bytes/bounded-cache';
import { MEASURED_MAX, MEASURED_MIN, SHORT_MS_MAX } from '../../domain/jobs/prefetch.ts';

/** Endpoints that are remembered. */
const ENDPOINTS_MAX = 10_000;
/** Short executions in a row after which earlier long ones no longer count. */
const FORGIVEN = 1_000;
/** Share of the latest executions that `areWithin` leaves out. */
const OUTLIERS_SHARE = 0.25;

interface Times {
  ms: number[];
  /** Short executions since the last long one. */
  count: number;
  /** Short executions in a row that restore the times. */
  needed: number;
}

export class ExecutionTimes {
  readonly #byEndpoint = boundedCache<string, Times>(ENDPOINTS_MAX);

  /** Records an execution of `ms` milliseconds. */
  record(endpointId: string, ms: number): void {
    if (ms > SHORT_MS_MAX) return this.discard(endpointId);
    const times = this.#of(endpointId);
    times.ms[times.count % MEASURED_MAX] = ms;
    times.count += 1;
    if (times.count >= FORGIVEN) times.needed = MEASURED_MIN;
  }

  /** Discards the times of an endpoint: an execution took long, was lost or stopped, or runs longer than expected. */
  discard(endpointId: string): void {
    const times = this.#of(endpointId);
    if (times.count > 0) times.needed = Math.min(times.needed * 2, MEASURED_MAX);
    times.ms = [];
    times.count = 0;
  }

  /** Returns the latest execution times in milliseconds. Empty until there are enough of them. */
  of(endpointId: string): readonly number[] {
    const times = this.#byEndpoint.get(endpointId);
    return times && times.count >= times.needed ? times.ms : [];
  }

  /** Returns whether the latest took at most `msMax` milliseconds each. Leaves out some outliers. */
  areWithin(endpointId: string, msMax: number): boolean {
    const ms = this.of(endpointId);
    let longer = 0;
    for (const each of ms) if (each > msMax) longer += 1;
    return ms.length > 0 && longer <= ms.length * OUTLIERS_SHARE;
  }

  #of(endpointId: string): Times {
    let times = this.#byEndpoint.get(endpointId);
    if (times) return times;
    this.#byEndpoint.set(endpointId, (times = { ms: [], count: 0, needed: MEASURED_MIN }));
    return times;
  }
}
