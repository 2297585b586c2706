/**
 * How many jobs a worker gets beyond those it asked for (docs/reference/worker-protocol.md#short-jobs). The Python SDK sleeps a second whenever it is full, so
 * it runs one short job a second; a list it runs through without that sleep, but cannot give back. Our own SDK does not sleep: its agent keeps what is
 * ahead, so that the worker never waits for core, and core claims many at a time. Pure.
 */

/** At most about so much work is in hand behind what runs, in milliseconds. */
export const PREFETCH_MS = 600;
/** With one execution longer than this among the measured ones nothing is handed over ahead, in milliseconds. */
export const SHORT_MS_MAX = 500;
/** Executions that must have been measured before; and until all are, for each at most so many jobs: the first guesses risk little. */
export const MEASURED_MIN = 3;
const GROWTH = 4;
/** Executions that are remembered, the latest. */
export const MEASURED_MAX = 64;
/** The longest of them that do not count for the mean: what a worker was given while it dozed took longer. */
const OUTLIERS = 2;
/** Most jobs for one worker, and about so many bytes of their inputs: what is ahead is in memory. */
export const PREFETCH_MAX = 1_000;
const PREFETCH_BYTES_MAX = 4 * 1024 * 1024;
/** Only jobs that have been queued for this long: in this time any idle worker, on whatever machine or replica, would have got them. */
export const QUEUED_MS_MIN = 100;
/** Added to the execution timeout of a job that is handed over ahead, in milliseconds: after this its agent says that it still waits. */
export const WAITING_MS = 2_000;
/**
 * How long after its agent's first word that jobs wait in hand they are asked back, where another worker could begin them, in milliseconds. Their
 * worker ends with it, and its successor starts anew: not for a job that only takes a little longer.
 */
export const REVOKE_AFTER_MS = 3_000;

/** What is known of a worker that asks for work. */
export interface PrefetchFacts {
  /** The endpoint's latest execution times in milliseconds. */
  timesMs: readonly number[];
  /** Jobs that the worker asked for and now gets. */
  slots: number;
  /** Another worker of the endpoint has room. */
  othersIdle: boolean;
  /** Bytes of the largest input among the jobs before them. Default 0. */
  inputBytes?: number;
}

/** Jobs besides those. */
export function prefetchCount({ timesMs, slots, othersIdle, inputBytes = 0 }: PrefetchFacts): number {
  if (othersIdle || timesMs.length < MEASURED_MIN) return 0;
  const sorted = [...timesMs].sort((a, b) => a - b);
  if (sorted.at(-1)! > SHORT_MS_MAX) return 0;
  const usual = sorted.slice(0, -OUTLIERS);
  const meanMs = Math.max(usual.reduce((sum, ms) => sum + ms, 0) / usual.length, 1);
  const most = Math.min(PREFETCH_MAX, Math.floor(PREFETCH_BYTES_MAX / Math.max(inputBytes, 1)));
  return Math.min(Math.max(Math.floor(PREFETCH_MS / meanMs) - 1, 0) * slots, timesMs.length < MEASURED_MAX ? GROWTH * timesMs.length : most, most);
}
