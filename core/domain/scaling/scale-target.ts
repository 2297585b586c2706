/** Computes the target number of workers from a scaler's recommendation, with each limit that changed it. Pure. */

import type { ScaleRecommendation, Scaler, ScaleSettings, WorkerSample } from './scaler.ts';
import { inWordsOf, isIdle, queueDelayScaler, requestCountScaler } from './scaler.ts';
import { sloScaler } from './slo-scaler.ts';

/**
 * Limits of an endpoint. On workers: its workersMax, its account's quota, no free slot, fair shares of other accounts,
 * GPUs reserved for larger workers, preemption of low-priority workers, or the maximum per reconcile. On jobs: the
 * length of its queue, its account's quota of queued jobs, or the rate limits and quota of requests.
 */
export type ScaleLimitName =
  | 'WORKERS_MAX'
  | 'QUOTA'
  | 'NO_PLACE'
  | 'FAIR_SHARE'
  | 'KEPT_GPUS'
  | 'GAVE_WAY'
  | 'AT_ONCE'
  | 'QUEUE_LENGTH'
  | 'QUEUED_JOBS'
  | 'REQUEST_RATE'
  | 'REQUESTS_AT_ONCE'
  | 'REQUEST_QUOTA';

/** A binding limit. */
export interface ScaleLimit {
  limit: ScaleLimitName;
  /** Number of workers that the limit cuts. */
  cut: number;
  /** For the owner. */
  text: string;
}

/** Target number of workers, and why. */
export interface ScaleTarget {
  /** Number of workers that there should be now. */
  target: number;
  /** Number of workers that demand, use and workersMin ask for, before workersMax. */
  wished: number;
  /** Reason of the target, for people. The words are the same as long as the cause is. */
  reason: string;
  limits: readonly ScaleLimit[];
}

const SCALERS: Readonly<Record<ScaleSettings['scalerType'], Scaler>> = {
  QUEUE_DELAY: queueDelayScaler,
  REQUEST_COUNT: requestCountScaler,
  SLO: sloScaler,
};

/** Runs the scaler of the endpoint's settings. */
export const chosenScaler: Scaler = (sample, settings) => {
  const { workers, reason } = SCALERS[settings.scalerType](sample, settings);
  return { workers, reason: inWordsOf(settings, reason) };
};

const IN_USE_TEXT = 'workers are busy, starting or not idle for long';

/**
 * Returns the target: the recommendation, but never fewer workers than are busy, starting or recently idle, within
 * workersMin and workersMax.
 */
export function targetOf(
  current: readonly WorkerSample[],
  settings: ScaleSettings,
  { workers, reason }: ScaleRecommendation,
): ScaleTarget {
  const { workersMin, workersMax } = settings;
  const inUse = current.filter((worker) => worker.state !== 'UNHEALTHY' && !isIdle(worker, settings)).length;
  const wished = Math.max(workers, inUse, workersMin);
  const why =
    wished === workers
      ? reason
      : `${reason}, and ${wished === workersMin ? `workersMin is ${workersMin}` : IN_USE_TEXT}`;
  if (wished <= workersMax) return { target: wished, wished, reason: why, limits: [] };
  const text = `workersMax is ${workersMax}`;
  return {
    target: workersMax,
    wished,
    reason: `${why}, but ${text}`,
    limits: [{ limit: 'WORKERS_MAX', cut: wished - workersMax, text }],
  };
}
