/** Measured traffic of an endpoint: arrivals, waits, executions and worker starts. Pure. */

/** Counts of durations: bin n counts about 2^(n/2) ms, bin 0 everything below 1 ms. Missing bins at the end are 0. */
export type Histogram = readonly number[];

/** Traffic of some seconds. */
export interface TrafficSpan {
  endMs: number;
  spanMs: number;
  /** Submitted jobs, without low priority. */
  arrived: number;
  /** Ended executions, and the sum of their durations. */
  executed: number;
  executionMs: number;
  executions: Histogram;
  /** Waits for a worker, of ended jobs without low priority. */
  waits: Histogram;
}

/** Length of a span in milliseconds, and the hours for which spans are kept. */
export const TRAFFIC_SPAN_MS = 10_000;
export const TRAFFIC_KEPT_HOURS = 12;
/** Number of bins of a histogram: up to about 12 days. */
export const BINS_MAX = 62;

/** A scaler's input about traffic. Logged with decisions: member names are persisted. */
export interface TrafficSample {
  /** Arrivals per second over the last 20 s, minute, ten minutes and hour, as far as the sample reaches. */
  arrivalsPerSecondNow: number;
  arrivalsPerSecond: number;
  arrivalsPerSecondLong: number;
  arrivalsPerSecondHour: number;
  /** Mean execution in milliseconds, 0 if none was measured. */
  executionMs: number;
  /** 90th percentile of the time until a new worker is ready, in milliseconds. 0 if none was measured. */
  startMs: number;
  /**
   * Times of the last starts, sorted ascending. They vary, for example if a model is still in memory. Absent if
   * unknown.
   */
  startsMs?: readonly number[];
  /** Starts by type of GPU, in the order of placement. Absent unless starts on several types were measured. */
  byGpu?: readonly GpuStarts[];
  /**
   * Assumptions instead of missing measurements. Absent if nothing is missing, or if the sample is older than this
   * member.
   */
  assumed?: AssumedTimes;
  /** Jobs that a worker holds at once. */
  slots: number;
}

/** Starts on one type of GPU, and its use now. */
export interface GpuStarts {
  /** Its name, with the profile of a MIG slice. */
  gpu: string;
  /** Number of further workers of the endpoint that fit on such GPUs now. */
  places: number;
  /** Workers of the endpoint on such GPUs now. */
  workers: readonly string[];
  /** Times of the last starts there, sorted ascending. Empty if none was measured. */
  startsMs: readonly number[];
}

/** Assumed times before any measurement, in milliseconds. */
interface AssumedTimes {
  executionMs: number;
  /** Start times with equal probability, sorted ascending. */
  startsMs: readonly number[];
}

/**
 * Assumptions until an endpoint has measurements, from published loads
 * (docs/contribute/lab/loads.md). Starts: 20th, 50th and 90th percentile of 7,531 loads of a model
 * (Alibaba GenTD26). Execution: geometric mean of the means of three records, 1.2, 6.5 and 24.6 s.
 */
export const ASSUMED_TIMES: AssumedTimes = { executionMs: 5_800, startsMs: [3_000, 22_700, 42_000] };

/** Windows of a sample, in milliseconds. */
export const TRAFFIC_WINDOWS_MS = { now: 20_000, short: 60_000, long: 600_000, hour: 3_600_000 } as const;
/** Maximum number of spans in a sample: enough for the windows, and more for run times if jobs are rare. */
export const TRAFFIC_SPANS_SEEN_MAX = 200;
/** Maximum number of worker starts in a sample. */
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

/** Returns the bin of a duration in milliseconds. */
export function binOf(ms: number): number {
  return ms < 1 ? 0 : Math.min(1 + Math.floor(Math.log2(ms) * 2), BINS_MAX - 1);
}

/** Adds a histogram to `sum`. */
export function addHistogram(sum: number[], more: Histogram): void {
  while (sum.length < more.length) sum.push(0);
  for (const [bin, count] of more.entries()) sum[bin] = sum[bin]! + count;
}

/** Returns a quantile in milliseconds, interpolated within its bin. Returns 0 for an empty histogram. */
export function quantileOf(histogram: Histogram, share: number): number {
  let left = histogram.reduce((sum, count) => sum + count, 0) * share;
  for (const [bin, count] of histogram.entries()) {
    if (count > 0 && left <= count) return bin === 0 ? 0 : 2 ** ((bin - 1 + Math.max(left, 0) / count) / 2);
    left -= count;
  }
  return 0;
}

/** Returns sums at a moment. `spans`: the last `TRAFFIC_SPANS_SEEN_MAX` spans with traffic. */
export function sumTraffic(spans: readonly TrafficSpan[], nowMs: number): TrafficSums {
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const arrived = (ms: number): number =>
    spans.reduce((sum, span) => sum + (span.endMs > nowMs - ms ? span.arrived : 0), 0);
  return {
    arrivedNow: arrived(now),
    arrivedShort: arrived(short),
    arrivedLong: arrived(long),
    arrivedHour: arrived(hour),
    executed: spans.reduce((sum, span) => sum + span.executed, 0),
    executionMs: spans.reduce((sum, span) => sum + span.executionMs, 0),
  };
}

/** Returns the 90th percentile, 0 if empty. `sorted`: durations in ascending order. */
export function mostOf(sorted: readonly number[]): number {
  return sorted[Math.ceil(sorted.length * 0.9) - 1] ?? 0;
}

/** Returns the sample of a moment. `startsMs`: times of the last starts. `byGpu`: the same by type of GPU. */
export function trafficSample(
  sums: TrafficSums,
  startsMs: readonly number[],
  slots: number,
  byGpu: readonly GpuStarts[] = [],
): TrafficSample {
  const { now, short, long, hour } = TRAFFIC_WINDOWS_MS;
  const sorted = startsMs.toSorted((a, b) => a - b);
  return {
    arrivalsPerSecondNow: (sums.arrivedNow * 1_000) / now,
    arrivalsPerSecond: (sums.arrivedShort * 1_000) / short,
    arrivalsPerSecondLong: (sums.arrivedLong * 1_000) / long,
    arrivalsPerSecondHour: (sums.arrivedHour * 1_000) / hour,
    executionMs: sums.executed === 0 ? 0 : Math.round(sums.executionMs / sums.executed),
    startMs: Math.round(mostOf(sorted)),
    ...(sorted.length > 0 && { startsMs: sorted.map(Math.round) }),
    slots,
    ...(byGpu.length > 0 && { byGpu }),
    ...((sorted.length === 0 || sums.executed === 0) && { assumed: ASSUMED_TIMES }),
  };
}
