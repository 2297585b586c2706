/** Views of drained machines that the console's server sends to its pages. Times are milliseconds since 1970. */

/** A machine that is being emptied of workers, or is. */
export interface DrainView {
  /** Time at which what still runs is handed back. 0: never. */
  deadlineMs: number;
  reason: string;
  /** Workers that are still there. */
  workers: number;
  /** Jobs that still run there. */
  jobs: number;
  /** Pods on it, which stay. */
  pods: number;
}
