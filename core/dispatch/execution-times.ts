/** How long the latest executions of each endpoint took, as agents say. In memory of this replica: without it nothing is handed over ahead. */
import { MEASURED_MAX } from '../domain/hand-ahead.ts';

/** Endpoints that are remembered; beyond it the one goes that was new first. */
const ENDPOINTS_MAX = 10_000;

interface Times {
  ms: number[];
  /** Where the next one goes. */
  next: number;
}

export class ExecutionTimes {
  readonly #byEndpoint = new Map<string, Times>();

  /** An execution ended after so many milliseconds. */
  learn(endpointId: string, ms: number): void {
    const times = this.#of(endpointId);
    times.ms[times.next] = ms;
    times.next = (times.next + 1) % MEASURED_MAX;
  }

  /** One was lost or stopped, or takes longer than expected: how long the next will take has to be seen anew. */
  forget(endpointId: string): void {
    const times = this.#byEndpoint.get(endpointId);
    if (times) Object.assign(times, { ms: [], next: 0 });
  }

  /** The latest, in milliseconds. */
  of(endpointId: string): readonly number[] {
    return this.#byEndpoint.get(endpointId)?.ms ?? [];
  }

  #of(endpointId: string): Times {
    let times = this.#byEndpoint.get(endpointId);
    if (times) return times;
    const [first] = this.#byEndpoint.keys();
    if (first !== undefined && this.#byEndpoint.size >= ENDPOINTS_MAX) this.#byEndpoint.delete(first);
    this.#byEndpoint.set(endpointId, times = { ms: [], next: 0 });
    return times;
  }
}
