/**
 * From a scaler's recommendation to changes of workers. Pure. Scale-down takes only workers that have been idle for idleTimeout, never a busy one;
 * only a lowered workersMax and an outdated version reach busy workers, and then they finish what they hold (DRAIN). With FlashBoot what idleness
 * takes is frozen, and woken before anything is started.
 */
import { targetOf } from './scale-target.ts';
import type { ScaleTarget } from './scale-target.ts';
import { isIdle, runningWorkers } from './scaler.ts';
import type { ScaleSample, ScaleSettings, ScaleRecommendation, WorkerSample } from './scaler.ts';
import { STANDBY_SECONDS_MAX } from './worker.ts';

/** What to change. */
export interface WorkerChanges extends ScaleTarget {
  /** Workers to start, each with the crashes that its place carries over. */
  add: readonly { failures: number }[];
  /** Frozen workers to wake instead of as many more. */
  wake: readonly string[];
  /** Idle workers to freeze where their machine has room for that, and to drain where it has none. */
  freeze: readonly string[];
  /** Workers to drain. */
  drain: readonly string[];
  /** Crashed workers whose place is given up or taken by one of `add`. */
  retire: readonly string[];
}

/** Compares what there is with what is wanted. */
export function reconcileWorkers(sample: ScaleSample, settings: ScaleSettings, recommendation: ScaleRecommendation): WorkerChanges {
  const all = runningWorkers(sample);
  const outdated = all.filter((worker) => worker.version !== settings.version);
  const current = all.filter((worker) => worker.version === settings.version);
  const chosen = targetOf(current, settings, recommendation);
  const surplus = surplusOf(current, settings, current.length - chosen.target);
  const going = new Set(surplus);
  const kept = current.filter((worker) => !going.has(worker));
  const replaced = kept.filter((worker) => worker.state === 'UNHEALTHY' && worker.retryDue);
  const standbys = sample.workers.filter((worker) => worker.desired === 'FREEZE');
  const usable = standbys.filter((worker) => maySleepOn(worker, settings));
  const missing = Math.max(chosen.target - kept.length, 0);
  const wake = wakeOrder(usable).slice(0, missing);
  const frozen = surplus.filter((worker) => settings.flashBoot && settings.workersMax > 0 && isIdle(worker, settings));
  const staying = new Set([...frozen, ...usable]);
  const leaving = [...outdated, ...[...surplus, ...standbys].filter((worker) => !staying.has(worker)), ...sample.workers.filter(hasCrashedGoing)];
  return {
    add: [...replaced.map(({ failures }) => ({ failures })), ...Array.from({ length: missing - wake.length }, () => ({ failures: crashesOf(current) }))],
    wake: ids(wake),
    freeze: ids(frozen),
    drain: ids(leaving.filter((worker) => worker.state !== 'UNHEALTHY')),
    retire: ids([...leaving.filter((worker) => worker.state === 'UNHEALTHY'), ...replaced]),
    ...chosen,
  };
}

/** It was told to go in the moment in which it crashed. Its agent has said all that there is to say of it: nobody else would end it and free its GPUs. */
function hasCrashedGoing({ desired, state }: WorkerSample): boolean {
  return desired === 'DRAIN' && state === 'UNHEALTHY';
}

/** What further places carry over: while none of an endpoint's workers has come up, one that crashes is of the same series, and not a first one again. */
function crashesOf(current: readonly WorkerSample[]): number {
  if (current.some(({ state }) => state !== 'UNHEALTHY' && state !== 'INITIALIZING')) return 0;
  return Math.max(0, ...current.map(({ failures }) => failures));
}

/** A frozen worker stays: not crashed, of this version, not for too long, and FlashBoot is still on. */
function maySleepOn(worker: WorkerSample, { version, flashBoot, workersMax }: ScaleSettings): boolean {
  if (worker.state === 'UNHEALTHY' || worker.version !== version || !flashBoot || workersMax === 0) return false;
  return worker.ageMs < STANDBY_SECONDS_MAX * 1_000;
}

/** The last frozen first: most of it is still in the processors' caches and nothing of it was written to swap. */
function wakeOrder(standbys: readonly WorkerSample[]): WorkerSample[] {
  return standbys.filter((worker) => worker.reachable).sort((a, b) => a.ageMs - b.ageMs);
}

/** Which workers go first: crashed, idle longest, then those that start, then the least busy. */
function surplusOf(current: readonly WorkerSample[], settings: ScaleSettings, count: number): WorkerSample[] {
  const rank = (worker: WorkerSample): number => {
    if (worker.state === 'UNHEALTHY') return 0;
    if (worker.held > 0) return 3;
    return worker.state === 'READY' ? 1 : 2;
  };
  const order = [...current].sort((a, b) => rank(a) - rank(b) || a.held - b.held || b.idleMs - a.idleMs);
  const overMax = current.length - settings.workersMax;
  const mayGo = (worker: WorkerSample): boolean => worker.state === 'UNHEALTHY' || isIdle(worker, settings);
  return order.slice(0, Math.max(count, 0)).filter((worker, index) => index < overMax || mayGo(worker));
}

function ids(workers: readonly WorkerSample[]): string[] {
  return workers.map((worker) => worker.id);
}
