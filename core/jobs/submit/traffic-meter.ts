/**
 * Counts the traffic of endpoints in memory; the traffic writer collects it every few seconds. A crash loses only a
 * part of an estimate.
 */
import type { Job } from '../../domain/jobs/job.ts';
import { binOf } from '../../domain/scaling/traffic.ts';

/** Traffic of one endpoint since the last `take`. */
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

  /** Counts a submitted job. */
  arrived(endpointId: string, lowPriority: boolean): void {
    this.#of(endpointId)[lowPriority ? 'arrivedLow' : 'arrived'] += 1;
  }

  /** Counts a final job. A job that never ran has no execution time. */
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

  /** Counts a timed-out job. Its duration is core's own limit, so it gives no execution time. */
  timedOut(endpointId: string): void {
    this.#of(endpointId).failed += 1;
  }

  /** Returns and resets the counts. `undefined` if there was no traffic. */
  take(): MeteredTraffic[] | undefined {
    const taken = [...this.#byEndpoint.values()];
    this.#byEndpoint = new Map();
    return taken.length === 0 ? undefined : taken;
  }

  /** Adds what `take` returned, because it could not be stored. */
  putBack(taken: readonly MeteredTraffic[]): void {
    for (const { endpointId, executions, waits, ...counts } of taken) {
      const traffic = this.#of(endpointId);
      for (const name of Object.keys(counts) as (keyof typeof counts)[]) traffic[name] += counts[name];
      addBins(traffic.executions, executions);
      addBins(traffic.waits, waits);
    }
  }

  #of(endpointId: string): MeteredTraffic {
    let traffic = this.#byEndpoint.get(endpointId);
    if (!traffic) {
      traffic = {
        endpointId,
        arrived: 0,
        executed: 0,
        executionMs: 0,
        executions: [],
        waits: [],
        arrivedLow: 0,
        completed: 0,
        failed: 0,
      };
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

function addBins(histogram: number[], more: readonly number[]): void {
  while (histogram.length < more.length) histogram.push(0);
  for (const [bin, jobs] of more.entries()) histogram[bin] = histogram[bin]! + jobs;
}
