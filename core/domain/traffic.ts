/** What goes on at an endpoint, as it was measured: arrivals, waits, executions and starts of workers. Pure. */

/** Numbers of spans of time, by length: entry n counts those of about 2^(n/2) ms, the first all below 1 ms. Shorter than its bins: the rest is 0. */
export type Histogram = readonly number[];

/** Some seconds of an endpoint. */
export interface TrafficSpan {
  endMs: number;
  spanMs: number;
  /** Jobs that were submitted, those with low priority left out. */
  arrived: number;
  /** Executions that ended, and how long they were together. */
  executed: number;
  executionMs: number;
  executions: Histogram;
  /** Of jobs without low priority that ended: how long they had waited for a worker. */
  waits: Histogram;
}

/** How long one span of what a replica has measured is, in milliseconds, and how long spans are kept. */
export const TRAFFIC_SPAN_MS = 10_000;
export const TRAFFIC_KEPT_HOURS = 12;
/** Bins of a histogram: up to some 12 days. */
const BINS_MAX = 62;

/** What a scaler may know of traffic. */
export interface TrafficSample {
  /** Jobs that came in a second: over the last minute, and over the last ten. */
  arrivalsPerSecond: number;
  arrivalsPerSecondLong: number;
  /** Mean execution in milliseconds. 0: none was seen. */
  executionMs: number;
  /** How long a new worker takes until it can work, in milliseconds: nine of ten took no longer. 0: none was seen. */
  startMs: number;
  /** Jobs that a worker holds at once. */
  slots: number;
}

/** Windows of a sample, in milliseconds. */
const SHORT_MS = 60_000;
export const TRAFFIC_WINDOW_MS = 600_000;

/** The bin of a length in milliseconds. */
export function binOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(1 + Math.floor(Math.log2(ms) * 2), BINS_MAX - 1);
}

/** Adds a histogram to one that is being made. */
export function addHistogram(sum: number[], more: Histogram): void {
  while (sum.length < more.length) sum.push(0);
  for (const [bin, count] of more.entries()) sum[bin] = sum[bin]! + count;
}

/** The length that this share of what was counted does not exceed, in milliseconds; within a bin lengths count as evenly spread. 0: nothing was. */
export function quantileOf(histogram: Histogram, share: number): number {
  let left = histogram.reduce((sum, count) => sum + count, 0) * share;
  for (const [bin, count] of histogram.entries()) {
    if (count > 0 && left <= count) return bin === 0 ? 0 : 2 ** ((bin - 1 + Math.max(left, 0) / count) / 2);
    left -= count;
  }
  return 0;
}

/** The sample of a moment. `startsMs`: how long the last workers took; `spans`: of the last `TRAFFIC_WINDOW_MS`, or the last ones before. */
export function trafficSample(spans: readonly TrafficSpan[], nowMs: number, startsMs: readonly number[], slots: number): TrafficSample {
  const within = (ms: number): number => spans.reduce((sum, { endMs, arrived }) => sum + (endMs > nowMs - ms ? arrived : 0), 0) / (ms / 1_000);
  const executed = spans.reduce((sum, span) => sum + span.executed, 0);
  const sorted = startsMs.toSorted((a, b) => a - b);
  return {
    arrivalsPerSecond: within(SHORT_MS), arrivalsPerSecondLong: within(TRAFFIC_WINDOW_MS),
    executionMs: executed === 0 ? 0 : Math.round(spans.reduce((sum, span) => sum + span.executionMs, 0) / executed),
    startMs: Math.round(sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0), slots,
  };
}
