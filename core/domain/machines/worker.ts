/** A worker: its desired state, the state that its agent observed, and the restart back-off after a crash. */
import type { GpuLoad } from './gpu-load.ts';
import type { HostLoad } from './host-load.ts';
import type { StandbyMove, StandbyState } from './standby.ts';

/** Desired state, set by core: run, stand by (FlashBoot), drain, or be absent. */
type WorkerDesired = 'RUN' | 'FREEZE' | 'DRAIN' | 'GONE';
/** State that the agent observed. */
export type WorkerState = 'INITIALIZING' | 'READY' | 'FROZEN' | 'DRAINING' | 'UNHEALTHY' | 'STOPPED';

/** Result of the health check of a load-balancing worker. Empty: it has no health path, or it was not checked yet. */
export type WorkerHealth = '' | 'INITIALIZING' | 'READY' | 'UNHEALTHY';

/** Reason of a worker that ended without a request to stop and without a crash. */
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
  /** Number of attempts that it can hold at once. */
  capacity: number;
  /** Number of attempts that it holds. */
  held: number;
  /** Endpoint version that it was started from. */
  version: number;
  /** True if the endpoint has a newer version and this worker is to stop. */
  outdated: boolean;
  gpuUuids: string[];
  /** Load of its GPUs, as far as their driver reports it. Empty on standby, and after a crash or its end. */
  gpuLoads: readonly GpuLoad[];
  /** Null on standby, after a crash or its end, and where it is not measured. */
  load: HostLoad | null;
  reason: string;
  exitCode: number | null;
  sdkVersion: string;
  createdAt: Date;
  /** Time at which it could take its first job. */
  readyAt: Date | undefined;
  endedAt: Date | undefined;
  /** Time at which it crashed. `endedAt` is later: the worker stays until another one takes its slot. */
  crashedAt: Date | undefined;
  /** Time from which another worker may take the slot of a crashed one. */
  retryAt: Date | undefined;
  /** Latest periods in which it held attempts. */
  busy: WorkerPeriod[];
  /** Latest periods in which it was on standby. */
  frozen: WorkerPeriod[];
  /** Level of its standby. Empty: it is not on standby, or has no GPU. */
  standbyReached: StandbyState;
  /** GPU memory that it holds, or held before it was offloaded. 0: unknown. */
  gpuMemoryBytes: number;
  /** `undefined`: none yet. */
  lastOffload: StandbyMove | undefined;
  lastRestore: StandbyMove | undefined;
  /** An operator suspended it. */
  suspended: boolean;
}

/** A period in the life of a worker. */
export interface WorkerPeriod {
  begin: Date;
  /** `undefined` if the period has not ended. */
  end: Date | undefined;
}

/** Returns periods from a list of alternating begins and ends. `endMs`: end of a last period that has none. */
export function stretchesOf(timesMs: readonly number[], endMs: number | undefined): WorkerPeriod[] {
  const begins = timesMs.filter((_ms, index) => index % 2 === 0);
  return begins.map((beginMs, index) => {
    const end = timesMs[index * 2 + 1] ?? endMs;
    return { begin: new Date(beginMs), end: end === undefined ? undefined : new Date(end) };
  });
}

/**
 * Longest time that a worker on standby keeps its memory on its GPUs, in seconds, unless the operator sets another
 * (SLIPWAY_STANDBY_SECONDS). In host memory it has no limit.
 */
export const STANDBY_SECONDS = 3_600;
/** Longest restart back-off after a crash, in seconds. */
export const CRASH_PAUSE_SECONDS_MAX = 300;
/** Number of ended workers of an endpoint that are kept, so that their reason and log can be read. */
export const ENDED_WORKERS_KEPT = 20;
/** Most ended workers that are returned for a machine. */
export const ENDED_WORKERS_SHOWN_MAX = 50;
/** Time for which ended workers are kept, in hours. */
export const ENDED_WORKERS_KEPT_HOURS = 24;

/**
 * Returns the seconds until a crashed worker may be replaced. `failures`: consecutive crashes of its slot without a
 * finished job in between, this one included. The first crash of a worker that had been ready is replaced at once; then
 * after 1, 2, 4 … 300 s.
 */
export function crashPauseSeconds(failures: number, hadBeenReady: boolean): number {
  if (failures <= 1 && hadBeenReady) return 0;
  const doublings = Math.max(failures - (hadBeenReady ? 2 : 1), 0);
  return Math.min(2 ** Math.min(doublings, 30), CRASH_PAUSE_SECONDS_MAX);
}
