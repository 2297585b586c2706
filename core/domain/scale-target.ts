/** From a scaler's wish to the number of workers there should be, and what cut or raised it: a limit is never silent. Pure. */
import { isIdle } from './scaler.ts';
import type { ScaleRecommendation, ScaleSettings, WorkerSample } from './scaler.ts';

/**
 * What keeps an endpoint from the workers that it wishes for: its own workersMax, its account's quota, no place, the
 * shares of other accounts where GPUs are short, GPUs kept for larger workers, workers of low priority that gave way, or the next turn's share; and
 * what keeps jobs out: the length of its queue, its account's quota of queued jobs, or the rate limits and the quota of requests.
 */
export type ScaleLimitName = 'WORKERS_MAX' | 'QUOTA' | 'NO_PLACE' | 'FAIR_SHARE' | 'KEPT_GPUS' | 'GAVE_WAY' | 'AT_ONCE' | 'QUEUE_LENGTH' | 'QUEUED_JOBS'
  | 'REQUEST_RATE' | 'REQUESTS_AT_ONCE' | 'REQUEST_QUOTA';

/** One limit that binds. */
export interface ScaleLimit {
  limit: ScaleLimitName;
  /** Workers that there would be without it and are not. */
  cut: number;
  /** For its owner. */
  text: string;
}

/** Number of workers, and why. */
export interface ScaleTarget {
  /** Workers that there should be now. */
  target: number;
  /** Workers that demand, use and workersMin ask for, before workersMax. */
  wished: number;
  /** Why this target, for a person; the same words as long as the cause is the same. */
  reason: string;
  limits: readonly ScaleLimit[];
}

const IN_USE_TEXT = 'workers are busy, starting or not idle for long';

/** The recommendation, never fewer than are busy, starting or not idle long enough, within workersMin and workersMax. */
export function targetOf(current: readonly WorkerSample[], settings: ScaleSettings, { workers, reason }: ScaleRecommendation): ScaleTarget {
  const { workersMin, workersMax } = settings;
  const inUse = current.filter((worker) => worker.state !== 'UNHEALTHY' && !isIdle(worker, settings)).length;
  const wished = Math.max(workers, inUse, workersMin);
  const why = wished === workers ? reason : `${reason}, and ${wished === workersMin ? `workersMin is ${workersMin}` : IN_USE_TEXT}`;
  if (wished <= workersMax) return { target: wished, wished, reason: why, limits: [] };
  const text = `workersMax is ${workersMax}`;
  return { target: workersMax, wished, reason: `${why}, but ${text}`, limits: [{ limit: 'WORKERS_MAX', cut: wished - workersMax, text }] };
}
