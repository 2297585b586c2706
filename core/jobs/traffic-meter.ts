/** Counts what goes on at endpoints, in memory and for a few seconds: the traffic writer takes it away. What a crash loses is only missing in an estimate. */
import type { Job } from '../domain/job.ts';
import { binOf } from '../domain/traffic.ts';

/** What one endpoint had since it was taken last. */
export interface MeteredTraffic {
  endpointId: string;
  arrived: number;
  executed: number;
  executionMs: number;
  executions: number[];
  waits: number[];
  arrivedLow: number;
  completed: number;
  failed: number;
}

export class TrafficMeter {
  #byEndpoint = new Map<string, MeteredTraffic>();

  /** A job was submitted. */
  arrived(endpointId: string, lowPriority: boolean): void {
    this.#of(endpointId)[lowPriority ? 'arrivedLow' : 'arrived'] += 1;
  }

  /** A job became final. One that never ran says nothing of executions. */
  ended({ endpointId, state, delayMs, executionMs }: Job, lowPriority: boolean): void {
    const traffic = this.#of(endpointId);
    if (state === 'COMPLETED') traffic.completed += 1;
    if (state === 'FAILED' || state === 'TIMED_OUT') traffic.failed += 1;
    if (executionMs === undefined) return;
    traffic.executed += 1;
    traffic.executionMs += executionMs;
    count(traffic.executions, executionMs);
    if (!lowPriority) count(traffic.waits, delayMs ?? 0);
  }

  /** A job timed out without a word of its worker: how long it ran is core's own limit, and says nothing of executions. */
  timedOut(endpointId: string): void {
    this.#of(endpointId).failed += 1;
  }

  /** Takes what was counted away. */
  take(): MeteredTraffic[] {
    const taken = [...this.#byEndpoint.values()];
    this.#byEndpoint = new Map();
    return taken;
  }

  #of(endpointId: string): MeteredTraffic {
    let traffic = this.#byEndpoint.get(endpointId);
    if (!traffic) {
      traffic = { endpointId, arrived: 0, executed: 0, executionMs: 0, executions: [], waits: [], arrivedLow: 0, completed: 0, failed: 0 };
      this.#byEndpoint.set(endpointId, traffic);
    }
    return traffic;
  }
}

function count(histogram: number[], ms: number): void {
  const bin = binOf(ms);
  while (histogram.length <= bin) histogram.push(0);
  histogram[bin] = histogram[bin]! + 1;
}
