/**
 * Scalers compute how many workers an endpoint should have. Pure: a sample and settings go in, a number and its reason
 * come out.
 */
import type { RolloutSettings } from './rollout-settings.ts';
import type { TrafficSample } from './traffic.ts';

/** A worker as a scaler sees it. */
export interface WorkerSample {
  id: string;
  machineId: string;
  desired: 'RUN' | 'FREEZE' | 'DRAIN';
  state: 'INITIALIZING' | 'READY' | 'FROZEN' | 'DRAINING' | 'UNHEALTHY';
  /** Number of its GPUs. */
  gpus: number;
  /** Its machine has a session, so changes reach it now. */
  reachable: boolean;
  /** Endpoint version of the worker. */
  version: number;
  /** Number of attempts it holds. */
  held: number;
  /** It holds attempts, all of low priority. Absent if not, or if unknown. */
  lowOnly?: true;
  /** Milliseconds since it last held an attempt or became ready. */
  idleMs: number;
  /** Milliseconds since its desired state changed: created, resumed or put on standby. */
  ageMs: number;
  /** Number of consecutive crashes. */
  failures: number;
  /** It takes requests of a load-balancing endpoint. Absent if not, or not now. */
  takesRequests?: true;
  /** It gets no jobs until a stopped one has ended. Absent if it gets jobs. */
  blocked?: true;
  /** The restart back-off of an UNHEALTHY worker is over. */
  retryDue: boolean;
  /** Milliseconds until the back-off is over. Absent if it is over, or if there is none. */
  retryMs?: number;
  /** It has finished at least one job. Absent if not, or if not needed. */
  served?: true;
  /** It is offloaded to host memory, or is to be: it has no GPUs, and needs them again to resume. Absent if not. */
  offloaded?: OffloadedSample;
  /** An operator suspended it: it stays as it is. Absent if not. */
  suspended?: true;
  /** A move of its GPU memory has taken too long: it ends. Absent if not. */
  moveLate?: true;
  /** GPU memory that it holds, in bytes, and the expected duration of its offload. Absent if unknown. */
  gpuBytes?: number;
  /** Milliseconds since it became ready for the first time. Absent if not yet, or if not needed. */
  readyMs?: number;
}

/** An offloaded worker, with the GPUs that its restore needs and the expected duration. */
export interface OffloadedSample {
  gpuUuids: readonly string[];
  restoreMs: number;
  /** Duration of its own cold start. Absent if it was not ready yet, or if the sample is older than this member. */
  startMs?: number;
}

/** A scaler's input about an endpoint. Jobs with lowPriority are not counted. */
export interface ScaleSample {
  /** Number of waiting jobs, counted no further than a scaler needs. */
  queued: number;
  /** Wait of the first of them in milliseconds, 0 without one. */
  oldestWaitMs: number;
  /** Number of running jobs. */
  running: number;
  /** Recent traffic, for the SLO scaler only. */
  traffic?: TrafficSample;
  /** Living workers. */
  workers: readonly WorkerSample[];
}

/** Scaling settings of the owner. */
export interface ScaleSettings {
  workersMin: number;
  workersMax: number;
  idleTimeoutSeconds: number;
  scalerType: 'QUEUE_DELAY' | 'REQUEST_COUNT' | 'SLO';
  /** Seconds for QUEUE_DELAY (may have a fraction) and SLO; jobs per worker for REQUEST_COUNT. */
  scalerValue: number;
  /** Idle workers go on standby instead of stopping. */
  flashBoot: boolean;
  /** Where they keep their GPU memory: GPU never offloads, HOST does at once. Absent: when others need the GPU. */
  standby?: 'GPU' | 'HOST';
  /** Longest time that they keep it there, in seconds. Absent: STANDBY_SECONDS. */
  standbySeconds?: number;
  /** The scaled version. Workers of other versions are replaced. */
  version: number;
  /** Load balancing: requests take the role of jobs. Absent for jobs. */
  requests?: true;
  /** A rollout in progress. Absent if there is none: workers of other versions stop at once. */
  rollout?: RolloutSettings;
}

/** A scaler's recommendation, before workersMin, workersMax and idle times apply. */
export interface ScaleRecommendation {
  workers: number;
  /** Reason, for people. */
  reason: string;
}

/** Recommends a number of workers from demand alone. */
export type Scaler = (sample: ScaleSample, settings: ScaleSettings) => ScaleRecommendation;

/** Returns workers that should run, including starting and crashed ones. Standby workers do not count. */
export function runningWorkers(sample: ScaleSample): WorkerSample[] {
  return sample.workers.filter((worker) => worker.desired === 'RUN');
}

/** Replaces "job" by "request" in a text if the endpoint serves requests. */
export function inWordsOf({ requests }: Pick<ScaleSettings, 'requests'>, sentence: string): string {
  return requests ? sentence.replace(/\bjob(s?)\b/g, 'request$1') : sentence;
}

/** Returns whether a worker may stop: it is ready, holds nothing and has been idle for idleTimeout. */
export function isIdle(worker: WorkerSample, settings: ScaleSettings): boolean {
  return worker.state === 'READY' && worker.held === 0 && worker.idleMs >= settings.idleTimeoutSeconds * 1_000;
}

/**
 * QUEUE_DELAY: the first job starts one worker. Then one more is added each scalerValue seconds while the oldest job
 * has waited longer (docs/reference/management.md#scaling).
 */
export const queueDelayScaler: Scaler = (sample, settings) => {
  const present = runningWorkers(sample).filter((worker) => worker.version === settings.version);
  const busy = present.filter((worker) => worker.held > 0).length;
  if (sample.queued === 0) return { workers: busy, reason: 'no job waits' };
  if (present.length === 0) return { workers: 1, reason: 'a job waits and there is no worker' };
  const spanMs = settings.scalerValue * 1_000;
  const youngestMs = Math.min(...present.map((worker) => worker.ageMs));
  if (sample.oldestWaitMs < spanMs)
    return { workers: present.length, reason: `no job has waited ${settings.scalerValue} s` };
  if (youngestMs < spanMs)
    return { workers: present.length, reason: `a worker was added less than ${settings.scalerValue} s ago` };
  return { workers: present.length + 1, reason: `a job has waited longer than ${settings.scalerValue} s` };
};

/**
 * REQUEST_COUNT: ceil((queued + running) / scalerValue) (docs/reference/management.md#scaling). For load-balancing
 * endpoints requests take the role of jobs.
 */
export const requestCountScaler: Scaler = (sample, settings) => {
  const jobs = sample.queued + sample.running;
  const workers = Math.ceil(jobs / settings.scalerValue);
  const present = runningWorkers(sample);
  // A request that waits beside a free worker would wait beside further workers too.
  if (workers > present.length && present.some(({ takesRequests, held }) => takesRequests && held === 0)) {
    return { workers: present.length, reason: 'a ready worker has no request yet' };
  }
  return { workers, reason: jobs === 0 ? 'there are no jobs' : `one worker for every ${settings.scalerValue} jobs` };
};
