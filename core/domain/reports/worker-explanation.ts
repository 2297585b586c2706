/** Explains the state of a worker: as fields and as a sentence. Pure. */

/** A worker. */

import type { StandbyMove } from '../machines/standby.ts';
import { gigabytesMoved } from '../machines/standby.ts';
import type { WorkerHealth } from '../machines/worker.ts';
import type { ScaleSettings, WorkerSample } from '../scaling/scaler.ts';
import { AWAY_CHANGE, CORDON_CHANGE, CRASH_CHANGE, SUSPENDED_CHANGE } from './what-would-change.ts';

export interface WorkerExplanation {
  id: string;
  state: 'STARTING' | 'UNREADY' | 'IDLE' | 'BUSY' | 'FROZEN' | 'DRAINING' | 'OUTDATED' | 'CRASHED' | 'AWAY';
  held: number;
  reason: string;
  /** The remedy. Empty if none is needed. */
  change: string;
}

export const AWAY_TEXT = 'its machine is not connected';
/** Further facts about a worker. */
interface UnusedWorker {
  /** Report of its machine. Empty for keys that may not read workers. */
  report: string;
  /** Why it was preempted. Empty if it was not. */
  preemption: string;
  /** Its machine is not connected. */
  away: boolean;
  /** Its latest restore from host memory. Absent if there was none. */
  restored?: StandbyMove | undefined;
  /** Why its machine cannot offload it although its endpoint allows it. Empty otherwise. */
  offloadFault?: string;
  /** Progress of a model on its machine, which its start waits for. Absent if none is. */
  downloading?: string | undefined;
  /** The remedy if its machine could not download a model. Absent if it could. */
  modelChange?: string | undefined;
  /** State of the health path of a load-balancing endpoint. Absent for queue endpoints. */
  health?: WorkerHealth;
}

/** Returns the state of a worker in words. */
export function explainWorker(
  worker: WorkerSample,
  { version, idleTimeoutSeconds, rollout }: ScaleSettings,
  aside: UnusedWorker,
): WorkerExplanation {
  const { report, preemption, away, health, downloading, modelChange } = aside;
  const { id, held } = worker;
  const what = health === undefined ? 'job' : 'request';
  const as = (state: WorkerExplanation['state'], reason: string, change = ''): WorkerExplanation => ({
    id,
    state,
    held,
    reason,
    change,
  });
  const more = report === '' ? '' : `: ${report}`;
  if (worker.state === 'UNHEALTHY') {
    const next = worker.retryDue ? 'another worker replaces it' : 'its replacement starts after a pause';
    const often = worker.failures > 1 ? `, ${worker.failures} times in a row` : '';
    return as('CRASHED', `it crashed${often}; ${next}${more}`, modelChange ?? CRASH_CHANGE);
  }
  if (worker.state === 'FROZEN' || worker.desired === 'FREEZE') {
    const not = away ? AWAY_TEXT : 'its machine is cordoned';
    if (worker.suspended) return as('FROZEN', 'an operator suspended it, and keeps its GPUs free', SUSPENDED_CHANGE);
    const stays = aside.offloadFault ? `; cannot offload: ${aside.offloadFault}` : '';
    if (worker.reachable)
      return as('FROZEN', `it is on standby${offloadText(worker)} and resumes for the next job${stays}`);
    return as('FROZEN', `it is on standby and does not resume while ${not}`, away ? AWAY_CHANGE : CORDON_CHANGE);
  }
  const others = health === undefined ? ', and other workers take over its requests,' : '';
  if (away) return as('AWAY', `${AWAY_TEXT}; it is given up${others} unless that is back within seconds`, AWAY_CHANGE);
  if (worker.blocked) {
    return as('BUSY', 'it takes no jobs until a cancelled or timed-out job has ended; another worker may replace it');
  }
  if (worker.desired === 'DRAIN' || worker.state === 'DRAINING') {
    const why = preemption === '' ? '' : `: it only does jobs of low priority, and ${preemption}`;
    return as('DRAINING', `it takes no more ${what}s and ends when it holds none${why}`);
  }
  const isOther = worker.version !== version;
  if (isOther && rollout?.phase !== 'BESIDE' && worker.state !== 'READY')
    return as('OUTDATED', 'it is of another version and is replaced');
  const ofVersion = rollout?.good !== undefined ? `it is of version ${worker.version}, and ` : '';
  if (worker.state === 'INITIALIZING') {
    const yet = health === undefined ? 'it has not asked for work yet' : 'it is not ready yet';
    return as(
      'STARTING',
      `${ofVersion}${yet}${afterCrashes(worker.failures)}${downloading === undefined ? more : `: ${downloading}`}`,
      worker.failures > 0 ? CRASH_CHANGE : '',
    );
  }
  if (health === 'INITIALIZING' || health === 'UNHEALTHY') {
    return as('UNREADY', `${ofVersion}it is not ready any more, and gets no requests until it is${more}`);
  }
  const until =
    isOther && rollout?.phase === 'REPLACE' ? `; it stops once a worker of version ${version} is available` : '';
  const back = restoreText(aside.restored);
  if (worker.held > 0) return as('BUSY', `${ofVersion}it holds ${worker.held}${back}${until}`);
  if (until !== '') return as('IDLE', `${ofVersion}it can take a ${what}${until}`);
  return as(
    'IDLE',
    `${ofVersion}it can take a ${what}; without one it stops after ${idleTimeoutSeconds} s idle unless ` +
      `workersMin keeps it${back}`,
  );
}

/** Returns the text that a worker came back from host memory. */
function restoreText(restored: StandbyMove | undefined): string {
  if (!restored) return '';
  const { bytes, ms } = restored;
  return `; resumed from host memory: ${gigabytesMoved(bytes)} in ${(ms / 1_000).toFixed(1)} s`;
}

/** Returns the text that a worker on standby is in host memory, and how long it takes to come back. */
function offloadText({ offloaded, gpuBytes = 0 }: WorkerSample): string {
  if (!offloaded) return '';
  const bytes = gpuBytes > 0 ? ` (${gigabytesMoved(gpuBytes)})` : '';
  return ` in host memory${bytes}, needs a free GPU for about ${(offloaded.restoreMs / 1_000).toFixed(1)} s,`;
}

/** Names the crashes before a starting worker, as its start is not the only cause of the wait. */
export function afterCrashes(failures: number): string {
  if (failures === 0) return '';
  return `, and ${failures === 1 ? 'the one' : `${failures} in a row`} before it crashed (slipway workers shows how)`;
}
