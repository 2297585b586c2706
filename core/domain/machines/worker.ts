/** A worker: what core wants of it, what its agent observed, and how long a crashed one waits. */
import type { GpuLoad } from './gpu-load.ts';

/** What core wants: run it, keep it frozen (FlashBoot), let it finish, or be rid of it. */
type WorkerDesired = 'RUN' | 'FREEZE' | 'DRAIN' | 'GONE';
/** What its agent observed. */
export type WorkerState = 'INITIALIZING' | 'READY' | 'FROZEN' | 'DRAINING' | 'UNHEALTHY' | 'STOPPED';

/**
 * What the health path of a worker of a load-balancing endpoint answers; empty: it has none, or nobody has asked yet.
 */
export type WorkerHealth = '' | 'INITIALIZING' | 'READY' | 'UNHEALTHY';

/** Why a worker ended that nobody told to and that did not crash. */
export const MACHINE_LOST_REASON = 'its machine was lost';
export const UNLISTED_REASON = 'its agent came back without it';

/** A stored worker that has not ended. */
export interface Worker {
  id: string;
  endpointId: string;
  endpointName: string;
  accountId: string;
  machineId: string;
  desired: WorkerDesired;
  state: WorkerState;
  /** Attempts it can hold at once. */
  capacity: number;
  /** Attempts it holds. */
  held: number;
  /** Endpoint version it was started from. */
  version: number;
  /** The endpoint has a newer version, and it is to go. */
  outdated: boolean;
  gpuUuids: string[];
  /** Of these, those whose driver tells something; none while it is frozen, and once it has crashed or ended. */
  gpuLoads: readonly GpuLoad[];
  reason: string;
  exitCode: number | null;
  sdkVersion: string;
  createdAt: Date;
  /** When it could take its first job. */
  readyAt: Date | undefined;
  endedAt: Date | undefined;
  /** In which it held attempts; the latest. */
  busy: WorkerPeriod[];
  /** In which it stood frozen; the latest. */
  frozen: WorkerPeriod[];
}

/** A stretch of time of a worker. */
export interface WorkerPeriod {
  begin: Date;
  /** `undefined` if it goes on. */
  end: Date | undefined;
}

/** Stretches from their begins and ends in turn; `endMs` is the end of one that has none. */
export function stretchesOf(timesMs: readonly number[], endMs: number | undefined): WorkerPeriod[] {
  const begins = timesMs.filter((_ms, place) => place % 2 === 0);
  return begins.map((beginMs, place) => {
    const end = timesMs[place * 2 + 1] ?? endMs;
    return { begin: new Date(beginMs), end: end === undefined ? undefined : new Date(end) };
  });
}

/** How long a worker is kept frozen, in seconds: an hour. */
export const STANDBY_SECONDS_MAX = 3_600;
/** Longest pause before a crashed worker is replaced, in seconds. */
export const CRASH_PAUSE_SECONDS_MAX = 300;
/** Ended workers of an endpoint that are kept, so that their reason and log can be read. */
export const ENDED_WORKERS_KEPT = 20;
/** Of them as many are told of a machine. */
export const ENDED_WORKERS_SHOWN_MAX = 50;
/** How long ended workers are kept, in hours. */
export const ENDED_WORKERS_KEPT_HOURS = 24;

/**
 * Seconds until a crashed worker may be replaced. `failures` counts crashes of its place in a row without a finished
 * job in between, this one included. The first crash of a worker that had been ready is replaced at once; then 1, 2, 4
 * … 300 s.
 */
export function crashPauseSeconds(failures: number, hadBeenReady: boolean): number {
  if (failures <= 1 && hadBeenReady) return 0;
  const doublings = Math.max(failures - (hadBeenReady ? 2 : 1), 0);
  return Math.min(2 ** Math.min(doublings, 30), CRASH_PAUSE_SECONDS_MAX);
}
