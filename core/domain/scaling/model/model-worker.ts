/** A worker of the scaling model. Pure. */

import type { ScaleSettings, WorkerSample } from '../scaler.ts';

/** State of a worker. Times are in milliseconds. */
export interface ModelWorker {
  id: string;
  desired: 'RUN' | 'FREEZE' | 'DRAIN';
  sinceMs: number;
  desiredAtMs: number;
  readyMs: number;
  /** End and run time of each job that it holds. */
  held: { endMs: number; executionMs: number }[];
  idleSinceMs: number;
}

/** Returns the time of a worker's next event, in milliseconds. */
export function eventOf({ desired, readyMs, held }: ModelWorker, nowMs: number): number {
  return Math.min(desired === 'RUN' && readyMs > nowMs ? readyMs : Infinity, ...held.map(({ endMs }) => endMs));
}

function stateOf(desired: ModelWorker['desired'], up: boolean): WorkerSample['state'] {
  if (desired === 'FREEZE') return 'FROZEN';
  if (desired === 'DRAIN') return 'DRAINING';
  return up ? 'READY' : 'INITIALIZING';
}

/** Returns the worker as a scaler samples it. */
export function workerSampleAt(
  { id, desired, readyMs, held, idleSinceMs, desiredAtMs }: ModelWorker,
  { version }: ScaleSettings,
  nowMs: number,
): WorkerSample {
  const up = readyMs <= nowMs;
  return {
    id,
    desired,
    state: stateOf(desired, up),
    version,
    machineId: '',
    gpus: 1,
    reachable: true,
    failures: 0,
    retryDue: false,
    held: held.length,
    idleMs: up && held.length === 0 ? nowMs - Math.max(idleSinceMs, readyMs) : 0,
    ageMs: nowMs - desiredAtMs,
  };
}
