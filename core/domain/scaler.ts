/** How many workers an endpoint should have. Pure: a sample and settings in, a number and its reason out. */
import type { RolloutSettings } from './rollout-settings.ts';
import type { TrafficSample } from './traffic.ts';

/** One worker as a scaler sees it. */
export interface WorkerSample {
  id: string;
  machineId: string;
  desired: 'RUN' | 'FREEZE' | 'DRAIN';
  state: 'INITIALIZING' | 'READY' | 'FROZEN' | 'DRAINING' | 'UNHEALTHY';
  /** GPUs that it has. */
  gpus: number;
  /** Its machine has a session: what is wanted of the worker reaches it now. */
  reachable: boolean;
  /** Endpoint version it was started from. */
  version: number;
  /** Attempts it holds. */
  held: number;
  /** All that it holds, and it holds some, are of low priority. Absent: no, or not known. */
  lowOnly?: true;
  /** Milliseconds since it last held an attempt or became ready. */
  idleMs: number;
  /** Milliseconds since `desired` became what it is: since it was asked for, woken or frozen. */
  ageMs: number;
  /** Crashes of its place in a row. */
  failures: number;
  /** It takes requests of a load-balancing endpoint. Absent: it does not, or not now. */
  takesRequests?: true;
  /** It gets no jobs until one that was stopped has ended. Absent: it gets jobs. */
  blocked?: true;
  /** An UNHEALTHY worker's back-off has passed. */
  retryDue: boolean;
  /** Milliseconds until it has. Absent: it has, or there is none. */
  retryMs?: number;
  /** It has held something and got rid of it. Absent: no, or nobody asks. */
  served?: true;
  /** Milliseconds since it could take its first job. Absent: not yet, or nobody asks. */
  readyMs?: number;
}

/** What a scaler may see of an endpoint. Jobs with lowPriority are left out of both counts. */
export interface ScaleSample {
  /** Jobs that wait, counted no further than a scaler can use. */
  queued: number;
  /** How long the first of them has waited, in milliseconds; 0 without one. */
  oldestWaitMs: number;
  /** Jobs that run. */
  running: number;
  /** What went on lately; for the SLO scaler alone. */
  traffic?: TrafficSample;
  /** Workers that have not ended. */
  workers: readonly WorkerSample[];
}

/** What the owner chose. */
export interface ScaleSettings {
  workersMin: number;
  workersMax: number;
  idleTimeoutSeconds: number;
  scalerType: 'QUEUE_DELAY' | 'REQUEST_COUNT' | 'SLO';
  /** Seconds of QUEUE_DELAY and SLO, of QUEUE_DELAY with a fraction; jobs of REQUEST_COUNT. */
  scalerValue: number;
  /** Idle workers are frozen instead of stopped. */
  flashBoot: boolean;
  /** The version that is scaled: workers of another are replaced. */
  version: number;
  /** Load balancing: requests stand where jobs do. Absent: jobs. */
  requests?: true;
  /** A release that is not complete. Absent: there is none, and workers of other versions go at once. */
  rollout?: RolloutSettings;
}

/** What a scaler recommends, before workersMin, workersMax and idle time are looked at. */
export interface ScaleRecommendation {
  workers: number;
  /** Why, for a person. */
  reason: string;
}

/** Decides from demand alone. */
export type Scaler = (sample: ScaleSample, settings: ScaleSettings) => ScaleRecommendation;

/** Workers that count: those to run, initializing and crashed ones included. Frozen ones do not. */
export function runningWorkers(sample: ScaleSample): WorkerSample[] {
  return sample.workers.filter((worker) => worker.desired === 'RUN');
}

/** A sentence about jobs, or about requests where these stand in their place. */
export function inWordsOf({ requests }: Pick<ScaleSettings, 'requests'>, sentence: string): string {
  return requests ? sentence.replace(/\bjob(s?)\b/g, 'request$1') : sentence;
}

/** It could go: it can take work, holds none and has not for idleTimeout. */
export function isIdle(worker: WorkerSample, settings: ScaleSettings): boolean {
  return worker.state === 'READY' && worker.held === 0 && worker.idleMs >= settings.idleTimeoutSeconds * 1_000;
}

/**
 * From zero the first job starts one worker; then one more each scalerValue seconds while the oldest has waited longer (docs/reference/management.md#scaling).
 */
export const queueDelayScaler: Scaler = (sample, settings) => {
  const present = runningWorkers(sample).filter((worker) => worker.version === settings.version);
  const busy = present.filter((worker) => worker.held > 0).length;
  if (sample.queued === 0) return { workers: busy, reason: 'no job waits' };
  if (present.length === 0) return { workers: 1, reason: 'a job waits and there is no worker' };
  const spanMs = settings.scalerValue * 1_000;
  const youngestMs = Math.min(...present.map((worker) => worker.ageMs));
  if (sample.oldestWaitMs < spanMs) return { workers: present.length, reason: `no job has waited ${settings.scalerValue} s` };
  if (youngestMs < spanMs) return { workers: present.length, reason: `a worker was added less than ${settings.scalerValue} s ago` };
  return { workers: present.length + 1, reason: `a job has waited longer than ${settings.scalerValue} s` };
};

/** ceil((queued + running) / scalerValue) (docs/reference/management.md#scaling). For load-balancing endpoints requests stand where jobs do. */
export const requestCountScaler: Scaler = (sample, settings) => {
  const jobs = sample.queued + sample.running;
  const workers = Math.ceil(jobs / settings.scalerValue);
  const present = runningWorkers(sample);
  // What waits beside it would wait beside others too.
  if (workers > present.length && present.some(({ takesRequests, held }) => takesRequests && held === 0)) {
    return { workers: present.length, reason: 'a ready worker has no request yet' };
  }
  return { workers, reason: jobs === 0 ? 'there are no jobs' : `one worker for every ${settings.scalerValue} jobs` };
};
