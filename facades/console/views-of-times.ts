/**
 * Views of job wait and run times, and of requests, that the console's server sends to its page. Times are milliseconds
 * since 1970.
 */
import type { Sample } from './views.ts';

/** Percentiles of durations, in milliseconds. 0 if nothing was counted. */
export interface PercentilesView {
  count: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

/** Wait and run times of jobs. Steps in which no job ended are left out. */
export interface JobTimesView {
  nowMs: number;
  sinceMs: number;
  stepMs: number;
  delay: PercentilesView;
  execution: PercentilesView;
  steps: readonly { atMs: number; delay: PercentilesView; execution: PercentilesView }[];
  /** Numbers of jobs that arrived and ended, by the same steps. */
  rates: readonly { atMs: number; arrived: number; completed: number; failed: number }[];
}

/** Requests of a step or of a worker. */
export interface RequestSumView {
  /** Start of the step. 0 in sums over all steps. */
  atMs: number;
  /** Empty in sums over workers, and for requests that no worker got. */
  workerId: string;
  requests: number;
  succeeded: number;
  redirected: number;
  clientErrors: number;
  serverErrors: number;
  broken: number;
  abandoned: number;
  bytesIn: number;
  bytesOut: number;
  duration: PercentilesView;
}

/** A failed request. */
interface FailedRequestView {
  atMs: number;
  method: string;
  path: string;
  hasQuery: boolean;
  status: number;
  durationMs: number;
  workerId: string;
  cause: string;
}

/** Requests of a span. Steps in which none ended are left out. */
export interface RequestStatsView {
  nowMs: number;
  sinceMs: number;
  stepMs: number;
  total: RequestSumView | null;
  steps: readonly RequestSumView[];
  workers: readonly RequestSumView[];
  failed: readonly FailedRequestView[];
}

/**
 * Returns the samples of a time that begins at `fromMs`, from its very begin: with what held then, unknown if no sample
 * is that old. A chart of them shows all of that time.
 */
export function since(samples: readonly Sample[], fromMs: number): readonly Sample[] {
  const [, ...held] = samples.findLast(([atMs]) => atMs < fromMs) ?? [0, null, null, null];
  const own = samples.filter(([atMs]) => atMs >= fromMs);
  return own[0]?.[0] === fromMs || samples.length === 0 ? own : [[fromMs, ...held], ...own];
}
