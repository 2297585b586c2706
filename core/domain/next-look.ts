/** When the decision over a sample may come out otherwise by itself, and after how many more jobs: before that nobody need look. Pure. */
import type { MachineCrashes } from './machine-crashes.ts';
import type { DecisionSample } from './scale-decision.ts';
import { runningWorkers } from './scaler.ts';
import { STANDBY_SECONDS_MAX } from './worker.ts';

/** What the next look waits for. What is Infinity never comes. */
export interface NextLook {
  /** Milliseconds until time alone may change something. */
  dueMs: number;
  /** So many more jobs of normal priority, waiting or running, may. */
  jobs: number;
  /** So many milliseconds after a job had to wait that may, where none waits now. */
  waitMs: number;
}

/** Of an endpoint that was just looked at. `throttled`: its last decision found no place for all workers. `crashes`: where they crashed, then. */
export function nextLook(sample: DecisionSample, throttled: boolean, crashes: readonly MachineCrashes[]): NextLook {
  const { demand, settings } = sample;
  const present = runningWorkers(demand);
  const grows = present.length < settings.workersMax && !throttled;
  const instants = [...crashes.map(({ retryMs }) => retryMs), ...idleDues(sample), ...(grows ? waitDues(sample) : []), ...demand.workers.flatMap((worker) => {
    if (worker.desired === 'FREEZE') return [STANDBY_SECONDS_MAX * 1_000 - worker.ageMs];
    return worker.desired === 'RUN' && worker.retryMs !== undefined ? [worker.retryMs] : [];
  })];
  return {
    dueMs: Math.min(Infinity, ...instants.filter((ms) => ms > 0)),
    jobs: grows ? jobsToNext(sample, present.length) : Infinity,
    waitMs: grows && present.length > 0 && settings.scalerType === 'QUEUE_DELAY' && demand.queued === 0 ? settings.scalerValue * 1_000 : Infinity,
  };
}

/** When workers that have nothing to do have had nothing for long enough. */
function idleDues({ demand, settings }: DecisionSample): number[] {
  const present = runningWorkers(demand);
  if (present.length <= settings.workersMin) return [];
  return present.flatMap(({ state, held, idleMs }) => (state === 'READY' && held === 0 ? [settings.idleTimeoutSeconds * 1_000 - idleMs] : []));
}

/** When the first job has waited, and the youngest worker been there, for so long that QUEUE_DELAY adds one; or the one after that which it adds now. */
function waitDues({ demand, settings }: DecisionSample): number[] {
  if (settings.scalerType !== 'QUEUE_DELAY' || demand.queued === 0) return [];
  const present = runningWorkers(demand).filter(({ version }) => version === settings.version);
  const spanMs = settings.scalerValue * 1_000;
  const sinceMs = present.length === 0 ? 0 : Math.min(demand.oldestWaitMs, ...present.map(({ ageMs }) => ageMs));
  return [sinceMs < spanMs ? spanMs - sinceMs : spanMs];
}

/** Jobs until REQUEST_COUNT wants one more worker than there will be after the decision over this sample. */
function jobsToNext({ demand, settings }: DecisionSample, present: number): number {
  if (settings.scalerType !== 'REQUEST_COUNT') return Infinity;
  const jobs = demand.queued + demand.running;
  const workers = Math.max(present, settings.workersMin, Math.ceil(jobs / settings.scalerValue));
  return workers === 0 || workers >= settings.workersMax ? Infinity : workers * settings.scalerValue - jobs + 1;
}
