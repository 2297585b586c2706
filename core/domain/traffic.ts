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
export const BINS_MAX = 62;

/** What a scaler may know of traffic. */
export interface TrafficSample {
  /** Jobs that came in a second: over the last 20 s, the last minute, the last ten minutes, and the last hour, as far as it is in what is read. */
  arrivalsPerSecondNow: number;
  arrivalsPerSecond: number;
  arrivalsPerSecondLong: number;
  arrivalsPerSecondHour: number;
  /** Mean execution in milliseconds. 0: none was seen. */
  executionMs: number;
  /** How long a new worker takes until it can work, in milliseconds: nine of ten took no longer. 0: none was seen. */
  startMs: number;
  /** How long each of the last starts took, the shortest first: they may differ much, as a model is still in memory or is not. Absent: not known. */
  startsMs?: readonly number[];
  /** The same by type of GPU, in the order in which placement takes them. Absent: it was not seen on several types. */
  byGpu?: readonly GpuStarts[];
  /** What counts instead of what was not seen. Absent: all was, or the sample is older than this field. */
  assumed?: AssumedTimes;
  /** Jobs that a worker holds at once. */
  slots: number;
}

/** Starts on one type of GPU, and what there is of it now. */
export interface GpuStarts {
  /** Its name, with the profile of a MIG slice. */
  gpu: string;
  /** Workers of the endpoint that would find a place on such GPUs now. */
  places: number;
  /** Workers of the endpoint that have such GPUs now. */
  workers: readonly string[];
  /** How long each of the last workers there took until it could work, the shortest first. Empty: none was seen. */
  startsMs: readonly number[];
}

/** Times that a scaler reckons with before any was measured, in milliseconds. */
export interface AssumedTimes {
  executionMs: number;
  /** Starts, each as likely as the others, the shortest first. */
  startsMs: readonly number[];
}

/**
 * Until an endpoint's own times are known, those of loads that others recorded (docs/contribute/lab/loads.md). Starts: what a fifth, half
 * and nine of ten of 7,531 loads of a model took (Alibaba GenTD26). An execution: geometric mean of the means of the three records, 1.2, 6.5 and 24.6 s.
 */
export const ASSUMED_TIMES: AssumedTimes = { executionMs: 5_800, startsMs: [3_000, 22_700, 42_000] };

/** Windows of a sample, in milliseconds. */
export const TRAFFIC_WINDOWS_MS = { now: 20_000, short: 60_000, long: 600_000, hour: 3_600_000 } as const;
/** Spans that a sample is made of: those of the windows, and more of them for the lengths of executions where jobs are rare. */
export const TRAFFIC_SPANS_SEEN_MAX = 200;
/** Starts of workers that a sample is made of. */
export const STARTS_SEEN_MAX = 20;

/** Sums over the last spans. */
export interface TrafficSums {
  arrivedNow: number;
  arrivedShort: number;
  arrivedLong: number;
  arrivedHour: number;
  executed: number;
  executionMs: number;
}

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

/** The sums of a moment. `spans`: the last `TRAFFIC_SPANS_SEEN_MAX` in which anything went on. */
export function sumTraffic(spans: readonly TrafficSpan[], nowMs: number): TrafficSums {
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const arrived = (ms: number): number => spans.reduce((sum, span) => sum + (span.endMs > nowMs - ms ? span.arrived : 0), 0);
  return {
    arrivedNow: arrived(now), arrivedShort: arrived(short), arrivedLong: arrived(long), arrivedHour: arrived(hour),
    executed: spans.reduce((sum, span) => sum + span.executed, 0), executionMs: spans.reduce((sum, span) => sum + span.executionMs, 0),
  };
}

/** What nine of ten do not exceed. `sorted`: lengths, the shortest first; 0 for none. */
export function mostOf(sorted: readonly number[]): number {
  return sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0;
}

/** The sample of a moment. `startsMs`: how long the last workers took until they could work; `byGpu`: on which type. */
export function trafficSample(sums: TrafficSums, startsMs: readonly number[], slots: number, byGpu: readonly GpuStarts[] = []): TrafficSample {
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const sorted = startsMs.toSorted((a, b) => a - b);
  return {
    arrivalsPerSecondNow: (sums.arrivedNow * 1_000) / now, arrivalsPerSecond: (sums.arrivedShort * 1_000) / short,
    arrivalsPerSecondLong: (sums.arrivedLong * 1_000) / long, arrivalsPerSecondHour: (sums.arrivedHour * 1_000) / hour,
    executionMs: sums.executed === 0 ? 0 : Math.round(sums.executionMs / sums.executed),
    startMs: Math.round(mostOf(sorted)), ...(sorted.length > 0 && { startsMs: sorted.map(Math.round) }), slots,
    ...(byGpu.length > 0 && { byGpu }), ...((sorted.length === 0 || sums.executed === 0) && { assumed: ASSUMED_TIMES }),
  };
}
