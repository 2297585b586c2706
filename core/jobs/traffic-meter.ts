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
}

export class TrafficMeter {
  #byEndpoint = new Map<string, MeteredTraffic>();

  /** A job without low priority was submitted. */
  arrived(endpointId: string): void {
    this.#of(endpointId).arrived += 1;
  }

  /** A job became final. One that never ran says nothing. */
  ended({ endpointId, delayMs, executionMs }: Job, lowPriority: boolean): void {
    if (executionMs === undefined) return;
    const traffic = this.#of(endpointId);
    traffic.executed += 1;
    traffic.executionMs += executionMs;
    count(traffic.executions, executionMs);
    if (!lowPriority) count(traffic.waits, delayMs ?? 0);
  }

  /** Takes what was counted away. */
  take(): MeteredTraffic[] {
    const taken = [...this.#byEndpoint.values()];
    this.#byEndpoint = new Map();
    return taken;
  }

  #of(endpointId: string): MeteredTraffic {
    let traffic = this.#byEndpoint.get(endpointId);
    if (!traffic) this.#byEndpoint.set(endpointId, traffic = { endpointId, arrived: 0, executed: 0, executionMs: 0, executions: [], waits: [] });
    return traffic;
  }
}

function count(histogram: number[], ms: number): void {
  const bin = binOf(ms);
  while (histogram.length <= bin) histogram.push(0);
  histogram[bin] = histogram[bin]! + 1;
}
