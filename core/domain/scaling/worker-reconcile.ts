/**
 * Turns a scaler's recommendation into changes of workers. Pure. Scale-down only takes workers that have been idle for
 * idleTimeout, never busy ones. Only a lowered workersMax and a release (core/domain/scaling/rollout.ts) reach busy
 * workers, which finish their jobs first (DRAIN). With FlashBoot, idle workers go on standby, and are resumed before
 * new workers start.
 */

import { STANDBY_SECONDS } from '../machines/worker.ts';
import type { RolloutWorkers } from './rollout.ts';
import {
  FAILED_STARTS_MAX,
  isAvailable,
  leavingWorkers,
  replacementOrder,
  rolloutWorkers,
  scalerView,
} from './rollout.ts';
import type { ScaleTarget } from './scale-target.ts';
import { targetOf } from './scale-target.ts';
import type { ScaleRecommendation, ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';
import { isIdle, runningWorkers } from './scaler.ts';

/** Changes of the workers of an endpoint. */
export interface WorkerChanges extends ScaleTarget {
  /** Workers to start, each with the number of consecutive crashes that it inherits. */
  add: readonly { failures: number }[];
  /**
   * Number of workers in `add` that are missing. The others replace workers of another version, and no job waits for
   * them.
   */
  needed: number;
  /** A worker of the released version to start, beside the others or at an idle endpoint. Absent if there is none. */
  check?: { failures: number };
  /** A ready worker that may stop first to free a slot for the released version. Absent if there is none. */
  yields?: string;
  /** Standby workers to resume instead of new workers. */
  resume: readonly string[];
  /**
   * Offloaded workers that may resume instead of workers of `add`, as far as their GPUs are free or can be freed. The
   * most recent first.
   */
  restorable: readonly string[];
  /** Idle workers to put on standby, or to drain if their machine cannot hold more standby workers. */
  freeze: readonly string[];
  /** Workers that were on standby on their GPUs for too long: to host memory, or drained if that is not possible. */
  offload: readonly string[];
  /** Workers to drain. */
  drain: readonly string[];
  /** Crashed workers to remove or to replace by one of `add`. */
  retire: readonly string[];
}

/**
 * Compares existing workers with the target. `recommendation`: result of the scaler over `scalerView`. Workers whose
 * GPU memory is moved for too long end, and others take their place.
 */
export function reconcileWorkers(
  sample: ScaleSample,
  settings: ScaleSettings,
  recommendation: ScaleRecommendation,
): WorkerChanges {
  const late = sample.workers.filter(({ moveLate }) => moveLate);
  if (late.length === 0) return changesOf(sample, settings, recommendation);
  const workers = sample.workers.filter(({ moveLate }) => !moveLate);
  const changes = changesOf({ ...sample, workers }, settings, recommendation);
  return { ...changes, retire: [...ids(late), ...changes.retire] };
}

function changesOf(sample: ScaleSample, settings: ScaleSettings, recommendation: ScaleRecommendation): WorkerChanges {
  const { serving, earlier, beside, stale } = rolloutWorkers(sample, settings);
  const chosen = withCheck(
    targetOf(runningWorkers(scalerView(sample, settings)), settings, recommendation),
    serving,
    settings,
  );
  const surplus = surplusOf(serving, settings, serving.length - chosen.target);
  const going = new Set(surplus);
  const kept = serving.filter((worker) => !going.has(worker));
  const again = kept.filter((worker) => worker.state === 'UNHEALTHY' && worker.retryDue);
  const standbys = sample.workers.filter((worker) => worker.desired === 'FREEZE' && !worker.suspended);
  const staying = standbys.filter((worker) => mayStayOnStandby(worker, settings));
  const aged = staying.filter((worker) => isAged(worker, settings));
  const offload = aged.filter(({ gpus }) => gpus > 0 && settings.standby !== 'GPU');
  const usable = staying.filter((worker) => !isAged(worker, settings));
  const replaced = replacedOf(sample, kept, earlier, chosen.target);
  const missing = Math.max(chosen.target - kept.length - Number(isSlotFreed(settings)), 0);
  const more = Math.min(missing, surgeCapacity(sample, settings, kept, earlier));
  const onStandby = resumeOrder(usable);
  const resume = onStandby.filter(({ offloaded }) => !offloaded).slice(0, more);
  const frozen = surplus.filter((worker) => settings.flashBoot && settings.workersMax > 0 && isIdle(worker, settings));
  const standing = new Set([...frozen, ...usable, ...offload]);
  const isBeside = settings.rollout?.phase === 'BESIDE';
  const { check, tried } = checkOf(sample, settings, { serving, earlier, beside, stale }, chosen.target);
  const unneeded = [...surplus, ...standbys].filter((worker) => !standing.has(worker));
  const leaving = [...stale, ...replaced, ...tried, ...unneeded, ...sample.workers.filter(crashedWhileDraining)];
  const add = [
    ...again.map(({ failures }) => ({ failures })),
    ...Array.from({ length: more - resume.length }, () => ({ failures: crashesOf(serving) })),
  ];
  return {
    add,
    ...(check && { check }),
    ...yieldsOf(
      sample,
      settings,
      { kept, earlier },
      { target: chosen.target, wants: isBeside ? check !== undefined : add.length > 0 },
    ),
    needed: Math.min(
      add.length,
      neededOf(
        sample,
        settings,
        [...kept.filter((worker) => !again.includes(worker)), ...earlier, ...resume],
        chosen.target,
      ),
    ),
    resume: ids(resume),
    restorable: add.length === 0 ? [] : ids(onStandby.filter(({ offloaded }) => offloaded)),
    freeze: ids(frozen),
    offload: ids(offload),
    drain: ids(leaving.filter((worker) => worker.state !== 'UNHEALTHY')),
    retire: ids([...leaving.filter((worker) => worker.state === 'UNHEALTHY'), ...again]),
    ...chosen,
  };
}

/** Adds one worker while a released version is checked, although no job needs it. */
function withCheck(
  chosen: ScaleTarget,
  serving: readonly WorkerSample[],
  { rollout, workersMax }: ScaleSettings,
): ScaleTarget {
  if (rollout?.phase !== 'REPLACE' || rollout.state !== 'CHECKING' || rollout.good === undefined) return chosen;
  if (chosen.target > 0 || serving.length === 0 || workersMax === 0) return chosen;
  return { ...chosen, target: 1, wished: 1, reason: `${chosen.reason}, and version ${rollout.released} is checked` };
}

/** Returns ready workers of previous versions that available workers replace, or that exceed the target. */
function replacedOf(
  sample: ScaleSample,
  kept: readonly WorkerSample[],
  earlier: readonly WorkerSample[],
  target: number,
): WorkerSample[] {
  const available = kept.filter((worker) => isAvailable(worker, sample)).length;
  return replacementOrder(earlier).slice(0, Math.max(available + earlier.length - target, 0));
}

/**
 * Returns how many workers may be added during a replacement: up to workersMax + 1 in all, and only one until the first
 * one is ready.
 */
function surgeCapacity(
  sample: ScaleSample,
  settings: ScaleSettings,
  kept: readonly WorkerSample[],
  earlier: readonly WorkerSample[],
): number {
  if (settings.rollout?.phase !== 'REPLACE') return Infinity;
  const leaving = leavingWorkers(sample, settings).length;
  if (earlier.length + leaving === 0) return Infinity;
  const capacity = Math.max(settings.workersMax + 1 - kept.length - earlier.length - leaving, 0);
  const isFirst = earlier.length > 0 && !kept.some(({ state }) => state === 'READY');
  return isFirst ? Math.min(capacity, kept.length === 0 ? 1 : 0) : capacity;
}

/** Returns whether a wanted worker was stopped to free a slot for the released version. */
function isSlotFreed({ rollout }: ScaleSettings): boolean {
  return rollout?.phase === 'BESIDE' && rollout.roomMade === true;
}

/** Returns how many workers are missing while existing ones serve until they are replaced. */
function neededOf(
  sample: ScaleSample,
  settings: ScaleSettings,
  there: readonly WorkerSample[],
  target: number,
): number {
  if (settings.rollout?.phase !== 'REPLACE') return Infinity;
  return Math.max(target - there.length - leavingWorkers(sample, settings).length, 0);
}

/**
 * Returns whether to start a worker of the released version, beside the others or at an idle endpoint. `tried`: crashed
 * workers that it follows.
 */
function checkOf(
  sample: ScaleSample,
  settings: ScaleSettings,
  { serving, earlier, beside, stale }: RolloutWorkers,
  target: number,
): { check?: { failures: number }; tried: WorkerSample[] } {
  const { rollout, workersMax } = settings;
  if (!rollout || workersMax === 0 || rollout.state !== 'CHECKING') return { tried: beside };
  if (rollout.phase === 'REPLACE') {
    const isIdleEndpoint =
      rollout.good !== undefined && !rollout.checked && target + serving.length + earlier.length + stale.length === 0;
    return isIdleEndpoint ? { check: { failures: 0 }, tried: [] } : { tried: [] };
  }
  const [tried] = beside;
  const there = serving.length + leavingWorkers(sample, settings).length;
  if (!tried) return there <= workersMax ? { check: { failures: 0 }, tried: [] } : { tried: [] };
  const isDue = tried.state === 'UNHEALTHY' && tried.retryDue && tried.failures < FAILED_STARTS_MAX;
  return isDue ? { check: { failures: tried.failures }, tried: [tried] } : { tried: [] };
}

/**
 * Returns the worker that may stop first if a worker of the released version finds no slot, provided that as many
 * workers are ready as wanted.
 */
function yieldsOf(
  sample: ScaleSample,
  settings: ScaleSettings,
  { kept, earlier }: { kept: readonly WorkerSample[]; earlier: readonly WorkerSample[] },
  { target, wants }: { target: number; wants: boolean },
): { yields?: string } {
  const { rollout } = settings;
  if (
    !wants ||
    !rollout ||
    rollout.phase === 'AT_ONCE' ||
    rollout.roomMade ||
    sample.workers.some(({ desired }) => desired === 'DRAIN')
  )
    return {};
  const from = rollout.phase === 'BESIDE' ? kept : earlier;
  const ready = [...kept, ...earlier].filter(({ state }) => state === 'READY');
  if (ready.length < kept.length + earlier.length || ready.length < target) return {};
  const [first] = replacementOrder(from.filter(({ state }) => state === 'READY'));
  return first ? { yields: first.id } : {};
}

/** Returns whether the worker crashed as it was drained. Its agent reports no more, so core must end it here. */
function crashedWhileDraining({ desired, state }: WorkerSample): boolean {
  return desired === 'DRAIN' && state === 'UNHEALTHY';
}

/**
 * Returns the consecutive crashes that new workers inherit: until a worker of the endpoint is up, all crashes belong to
 * one series.
 */
function crashesOf(current: readonly WorkerSample[]): number {
  if (current.some(({ state }) => state !== 'UNHEALTHY' && state !== 'INITIALIZING')) return 0;
  return Math.max(0, ...current.map(({ failures }) => failures));
}

/** Returns whether a worker may stay on standby: not crashed, of the scaled version, and FlashBoot is on. */
function mayStayOnStandby(worker: WorkerSample, { version, flashBoot, workersMax }: ScaleSettings): boolean {
  return worker.state !== 'UNHEALTHY' && worker.version === version && flashBoot && workersMax > 0;
}

/** Returns whether a worker was on standby on its GPUs for too long. In host memory it stays while there is room. */
function isAged({ offloaded, ageMs }: WorkerSample, { standbySeconds = STANDBY_SECONDS }: ScaleSettings): boolean {
  return !offloaded && ageMs >= standbySeconds * 1_000;
}

/** Sorts standby workers, last frozen first: its data is most likely still in caches and not swapped out. */
function resumeOrder(standbys: readonly WorkerSample[]): WorkerSample[] {
  return standbys.filter((worker) => worker.reachable).sort((a, b) => a.ageMs - b.ageMs);
}

/**
 * Returns the workers to remove: crashed ones first, then the longest idle, then starting ones, then the least busy.
 */
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
