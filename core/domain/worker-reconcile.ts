/**
 * From a scaler's recommendation to changes of workers. Pure. Scale-down takes only workers that have been idle for idleTimeout, never a busy one;
 * only a lowered workersMax and an outdated version reach busy workers, and then they finish what they hold (DRAIN).
 */
import { runningWorkers } from './scaler.ts';
import type { ScaleSample, ScaleSettings, ScaleRecommendation, WorkerSample } from './scaler.ts';

/** What to change. */
export interface WorkerChanges {
  /** Workers to start, each with the crashes that its place carries over. */
  add: readonly { failures: number }[];
  /** Workers to drain. */
  drain: readonly string[];
  /** Crashed workers whose place is given up or taken by one of `add`. */
  retire: readonly string[];
  /** Workers that there should be now. */
  target: number;
  /** Why, for a person. */
  reason: string;
}

/** Compares what there is with what is wanted. */
export function reconcileWorkers(sample: ScaleSample, settings: ScaleSettings, recommendation: ScaleRecommendation): WorkerChanges {
  const all = runningWorkers(sample);
  const outdated = all.filter((worker) => worker.version !== settings.version);
  const current = all.filter((worker) => worker.version === settings.version);
  const target = targetOf(current, settings, recommendation);
  const surplus = surplusOf(current, settings, current.length - target);
  const kept = current.filter((worker) => !surplus.includes(worker));
  const replaced = kept.filter((worker) => worker.state === 'UNHEALTHY' && worker.retryDue);
  const missing = Math.max(target - kept.length, 0);
  const leaving = [...outdated, ...surplus];
  return {
    add: [...replaced.map(({ failures }) => ({ failures })), ...Array.from({ length: missing }, () => ({ failures: 0 }))],
    drain: leaving.filter((worker) => worker.state !== 'UNHEALTHY').map((worker) => worker.id),
    retire: [...leaving.filter((worker) => worker.state === 'UNHEALTHY'), ...replaced].map((worker) => worker.id),
    target,
    reason: recommendation.reason,
  };
}

/** The recommendation, never fewer than are busy, starting or not idle long enough, within workersMin and workersMax. */
function targetOf(current: readonly WorkerSample[], settings: ScaleSettings, recommendation: ScaleRecommendation): number {
  const inUse = current.filter((worker) => worker.state !== 'UNHEALTHY' && !isIdle(worker, settings)).length;
  return Math.min(Math.max(recommendation.workers, inUse, settings.workersMin), settings.workersMax);
}

function isIdle(worker: WorkerSample, settings: ScaleSettings): boolean {
  return worker.state === 'READY' && worker.held === 0 && worker.idleMs >= settings.idleTimeoutSeconds * 1_000;
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
