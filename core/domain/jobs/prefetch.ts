/**
 * Decides how many jobs to prefetch for a worker (docs/reference/worker-protocol.md#short-jobs). The Python SDK
 * sleeps a second whenever it is full, so it runs one short job a second; it runs a list without that sleep, but
 * cannot return jobs. Our own SDK does not sleep: its agent holds the prefetched jobs, so the worker never waits for
 * core, and core claims many at a time. Pure.
 */

/** Most work prefetched behind the running job, in milliseconds. */
export const PREFETCH_MS = 600;
/** Nothing is prefetched if one measured execution is longer than this, in milliseconds. */
export const SHORT_MS_MAX = 500;
/**
 * Least measured executions before a prefetch. Until `MEASURED_MAX`, `GROWTH` jobs are allowed for each: first
 * estimates risk little.
 */
export const MEASURED_MIN = 3;
const GROWTH = 4;
/** Number of latest executions that are remembered. */
export const MEASURED_MAX = 64;
/** Number of longest executions left out of the mean: jobs that met a sleeping worker took longer. */
const OUTLIERS = 2;
/** Most prefetched jobs of one worker, and bytes of their inputs: they are held in memory. */
export const PREFETCH_MAX = 1_000;
const PREFETCH_BYTES_MAX = 4 * 1024 * 1024;
/**
 * Least time in the queue before a prefetch, in milliseconds: any idle worker, on any replica, would have got the job
 * by then.
 */
export const QUEUED_MS_MIN = 100;
/** Added to the execution timeout of a prefetched job, in milliseconds; then its agent reports that it still waits. */
export const WAITING_MS = 2_000;
/**
 * Time from the first report of waiting jobs until they are revoked, where another worker could begin them, in
 * milliseconds. The revoke restarts the worker, so it must not hit a job that takes only a little longer.
 */
export const REVOKE_AFTER_MS = 3_000;

/** Facts about a worker that asks for work. */
interface PrefetchFacts {
  /** The endpoint's latest execution times in milliseconds. */
  timesMs: readonly number[];
  /** Jobs that the worker requested and receives. */
  slots: number;
  /** True if another worker of the endpoint has a free slot. */
  othersIdle: boolean;
  /** Largest input among the jobs before them, in bytes. Default 0. */
  inputBytes?: number;
}

/** Returns the number of jobs to prefetch. */
export function prefetchCount({ timesMs, slots, othersIdle, inputBytes = 0 }: PrefetchFacts): number {
  if (othersIdle || timesMs.length < MEASURED_MIN) return 0;
  const sorted = [...timesMs].sort((a, b) => a - b);
  if (sorted.at(-1)! > SHORT_MS_MAX) return 0;
  const usual = sorted.slice(0, -OUTLIERS);
  const meanMs = Math.max(usual.reduce((sum, ms) => sum + ms, 0) / usual.length, 1);
  const most = Math.min(PREFETCH_MAX, Math.floor(PREFETCH_BYTES_MAX / Math.max(inputBytes, 1)));
  return Math.min(
    Math.max(Math.floor(PREFETCH_MS / meanMs) - 1, 0) * slots,
    timesMs.length < MEASURED_MAX ? GROWTH * timesMs.length : most,
    most,
  );
}
