/** What the console's server tells its page of how long jobs waited and ran. Times are milliseconds since 1970. */

/** Lengths that so many of a hundred did not exceed, in milliseconds; 0 where nothing was counted. */
export interface PercentilesView {
  count: number;
  p50Ms: number;
  p95Ms: number;
  p99Ms: number;
}

/** How long jobs waited and ran; steps in which none ended are left out. */
export interface JobTimesView {
  nowMs: number;
  sinceMs: number;
  stepMs: number;
  delay: PercentilesView;
  execution: PercentilesView;
  steps: readonly { atMs: number; delay: PercentilesView; execution: PercentilesView }[];
  /** Jobs that came and ended, by the same steps. */
  rates: readonly { atMs: number; arrived: number; completed: number; failed: number }[];
}
