/**
 * When a decision may change although no event happens: after which time, and after how many more jobs. No evaluation
 * is needed before. Pure.
 */

import { STANDBY_SECONDS } from '../machines/worker.ts';
import type { MachineCrashes } from './machine-crashes.ts';
import type { DecisionSample } from './scale-decision.ts';
import { runningWorkers } from './scaler.ts';

/** Conditions of the next evaluation. Infinity means never. */
export interface NextEvaluation {
  /** Milliseconds until the decision may change by time alone. */
  dueMs: number;
  /** Number of further jobs of normal priority, waiting or running, that may change the decision. */
  jobs: number;
  /** Milliseconds after a job starts to wait until the decision may change, if none waits now. */
  waitMs: number;
}

/**
 * Returns when to evaluate an endpoint next. `throttled`: its last decision left workers unplaced. `crashes`: its
 * crashes by machine, in that case.
 */
export function nextEvaluation(
  sample: DecisionSample,
  throttled: boolean,
  crashes: readonly MachineCrashes[],
): NextEvaluation {
  const { demand, settings } = sample;
  const present = runningWorkers(demand);
  const grows = present.length < settings.workersMax && !throttled;
  const instants = [
    ...crashes.map(({ retryMs }) => retryMs),
    ...idleDues(sample),
    ...(grows ? waitDues(sample) : []),
    ...demand.workers.flatMap((worker) => {
      if (worker.suspended) return [];
      if (worker.offloaded) return [];
      if (worker.desired === 'FREEZE') return [(settings.standbySeconds ?? STANDBY_SECONDS) * 1_000 - worker.ageMs];
      return worker.desired === 'RUN' && worker.retryMs !== undefined ? [worker.retryMs] : [];
    }),
  ];
  return {
    dueMs: Math.min(Infinity, ...instants.filter((ms) => ms > 0)),
    jobs: grows ? jobsToNext(sample, present.length) : Infinity,
    waitMs:
      grows && present.length > 0 && settings.scalerType === 'QUEUE_DELAY' && demand.queued === 0
        ? settings.scalerValue * 1_000
        : Infinity,
  };
}

/** Returns the times at which idle workers reach idleTimeout. */
function idleDues({ demand, settings }: DecisionSample): number[] {
  const present = runningWorkers(demand);
  if (present.length <= settings.workersMin) return [];
  return present.flatMap(({ state, held, idleMs }) =>
    state === 'READY' && held === 0 ? [settings.idleTimeoutSeconds * 1_000 - idleMs] : [],
  );
}

/**
 * Returns when QUEUE_DELAY adds its next worker: after the first job has waited, and the youngest worker has existed,
 * for scalerValue seconds.
 */
function waitDues({ demand, settings }: DecisionSample): number[] {
  if (settings.scalerType !== 'QUEUE_DELAY' || demand.queued === 0) return [];
  const present = runningWorkers(demand).filter(({ version }) => version === settings.version);
  const spanMs = settings.scalerValue * 1_000;
  const sinceMs = present.length === 0 ? 0 : Math.min(demand.oldestWaitMs, ...present.map(({ ageMs }) => ageMs));
  return [sinceMs < spanMs ? spanMs - sinceMs : spanMs];
}

/** Returns the number of jobs after which REQUEST_COUNT wants one more worker than after this decision. */
function jobsToNext({ demand, settings }: DecisionSample, present: number): number {
  if (settings.scalerType !== 'REQUEST_COUNT') return Infinity;
  const jobs = demand.queued + demand.running;
  const workers = Math.max(present, settings.workersMin, Math.ceil(jobs / settings.scalerValue));
  return workers === 0 || workers >= settings.workersMax ? Infinity : workers * settings.scalerValue - jobs + 1;
}
