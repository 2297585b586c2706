/** Views of job wait and run times that the console's server sends to its page. Times are milliseconds since 1970. */

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
