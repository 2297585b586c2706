/**
 * From a scaler's recommendation to changes of workers. Pure. Scale-down takes only workers that have been idle for idleTimeout, never a busy one;
 * only a lowered workersMax and a release (core/domain/rollout.ts) reach busy workers, and then they finish what they hold (DRAIN). With FlashBoot what
 * idleness takes is frozen, and woken before anything is started.
 */
import { FAILED_STARTS_MAX, isAvailable, leavingWorkers, replacementOrder, rolloutWorkers, scalerView } from './rollout.ts';
import type { RolloutWorkers } from './rollout.ts';
import { targetOf } from './scale-target.ts';
import type { ScaleTarget } from './scale-target.ts';
import { isIdle, runningWorkers } from './scaler.ts';
import type { ScaleSample, ScaleSettings, ScaleRecommendation, WorkerSample } from './scaler.ts';
import { STANDBY_SECONDS_MAX } from './worker.ts';

/** What to change. */
export interface WorkerChanges extends ScaleTarget {
  /** Workers to start, each with the crashes that its place carries over. */
  add: readonly { failures: number }[];
  /** How many of `add` are missing; the others come in exchange for workers of another version, and nobody waits for them. */
  needed: number;
  /** A worker of the released version to start beside these, or where nothing asks for one. Absent: none. */
  check?: { failures: number };
  /** A ready worker that may go first, so that one of the released version finds a place. Absent: none. */
  yields?: string;
  /** Frozen workers to wake instead of as many more. */
  wake: readonly string[];
  /** Idle workers to freeze where their machine has room for that, and to drain where it has none. */
  freeze: readonly string[];
  /** Workers to drain. */
  drain: readonly string[];
  /** Crashed workers whose place is given up or taken by one of `add`. */
  retire: readonly string[];
}

/** Compares what there is with what is wanted. `recommendation`: of the scaler over `scalerView`. */
export function reconcileWorkers(sample: ScaleSample, settings: ScaleSettings, recommendation: ScaleRecommendation): WorkerChanges {
  const { serving, earlier, beside, stale } = rolloutWorkers(sample, settings);
  const chosen = withCheck(targetOf(runningWorkers(scalerView(sample, settings)), settings, recommendation), serving, settings);
  const surplus = surplusOf(serving, settings, serving.length - chosen.target);
  const going = new Set(surplus);
  const kept = serving.filter((worker) => !going.has(worker));
  const again = kept.filter((worker) => worker.state === 'UNHEALTHY' && worker.retryDue);
  const standbys = sample.workers.filter((worker) => worker.desired === 'FREEZE');
  const usable = standbys.filter((worker) => maySleepOn(worker, settings));
  const replaced = replacedOf(sample, kept, earlier, chosen.target);
  const missing = Math.max(chosen.target - kept.length - Number(isPlaceGiven(settings)), 0);
  const more = Math.min(missing, surgeRoom(sample, settings, kept, earlier));
  const wake = wakeOrder(usable).slice(0, more);
  const frozen = surplus.filter((worker) => settings.flashBoot && settings.workersMax > 0 && isIdle(worker, settings));
  const staying = new Set([...frozen, ...usable]);
  const isBeside = settings.rollout?.phase === 'BESIDE';
  const { check, tried } = checkOf(sample, settings, { serving, earlier, beside, stale }, chosen.target);
  const unneeded = [...surplus, ...standbys].filter((worker) => !staying.has(worker));
  const leaving = [...stale, ...replaced, ...tried, ...unneeded, ...sample.workers.filter(hasCrashedGoing)];
  const add = [...again.map(({ failures }) => ({ failures })), ...Array.from({ length: more - wake.length }, () => ({ failures: crashesOf(serving) }))];
  return {
    add,
    ...(check && { check }),
    ...yieldsOf(sample, settings, { kept, earlier }, { target: chosen.target, wants: isBeside ? check !== undefined : add.length > 0 }),
    needed: Math.min(add.length, neededOf(sample, settings, [...kept.filter((worker) => !again.includes(worker)), ...earlier, ...wake], chosen.target)),
    wake: ids(wake),
    freeze: ids(frozen),
    drain: ids(leaving.filter((worker) => worker.state !== 'UNHEALTHY')),
    retire: ids([...leaving.filter((worker) => worker.state === 'UNHEALTHY'), ...again]),
    ...chosen,
  };
}

/** While a released version is checked, one worker of it is seen through although nothing asks for it. */
function withCheck(chosen: ScaleTarget, serving: readonly WorkerSample[], { rollout, workersMax }: ScaleSettings): ScaleTarget {
  if (rollout?.phase !== 'REPLACE' || rollout.state !== 'CHECKING' || rollout.good === undefined) return chosen;
  if (chosen.target > 0 || serving.length === 0 || workersMax === 0) return chosen;
  return { ...chosen, target: 1, wished: 1, reason: `${chosen.reason}, and version ${rollout.released} is checked` };
}

/** Ready workers of earlier versions whose places are taken by available ones, or that are more than are wanted. */
function replacedOf(sample: ScaleSample, kept: readonly WorkerSample[], earlier: readonly WorkerSample[], target: number): WorkerSample[] {
  const available = kept.filter((worker) => isAvailable(worker, sample)).length;
  return replacementOrder(earlier).slice(0, Math.max(available + earlier.length - target, 0));
}

/** How many workers may come while others are replaced: one more than workersMax with all that are still there, and a single one until one has come up. */
function surgeRoom(sample: ScaleSample, settings: ScaleSettings, kept: readonly WorkerSample[], earlier: readonly WorkerSample[]): number {
  if (settings.rollout?.phase !== 'REPLACE') return Infinity;
  const leaving = leavingWorkers(sample, settings).length;
  if (earlier.length + leaving === 0) return Infinity;
  const room = Math.max(settings.workersMax + 1 - kept.length - earlier.length - leaving, 0);
  const isFirst = earlier.length > 0 && !kept.some(({ state }) => state === 'READY');
  return isFirst ? Math.min(room, kept.length === 0 ? 1 : 0) : room;
}

/** One of the workers that are wanted went so that one of the released version has a place. */
function isPlaceGiven({ rollout }: ScaleSettings): boolean {
  return rollout?.phase === 'BESIDE' && rollout.roomMade === true;
}

/** How many are missing where what is there goes on serving until another takes its place. */
function neededOf(sample: ScaleSample, settings: ScaleSettings, there: readonly WorkerSample[], target: number): number {
  if (settings.rollout?.phase !== 'REPLACE') return Infinity;
  return Math.max(target - there.length - leavingWorkers(sample, settings).length, 0);
}

/** Whether a worker of the released version is to be started beside those that serve, or where nothing asks for one; `tried`: crashed ones that it follows. */
function checkOf(
  sample: ScaleSample, settings: ScaleSettings, { serving, earlier, beside, stale }: RolloutWorkers, target: number,
): { check?: { failures: number }; tried: WorkerSample[] } {
  const { rollout, workersMax } = settings;
  if (!rollout || workersMax === 0 || rollout.state !== 'CHECKING') return { tried: beside };
  if (rollout.phase === 'REPLACE') {
    const isIdleEndpoint = rollout.good !== undefined && !rollout.checked && target + serving.length + earlier.length + stale.length === 0;
    return isIdleEndpoint ? { check: { failures: 0 }, tried: [] } : { tried: [] };
  }
  const [tried] = beside;
  const there = serving.length + leavingWorkers(sample, settings).length;
  if (!tried) return there <= workersMax ? { check: { failures: 0 }, tried: [] } : { tried: [] };
  const isDue = tried.state === 'UNHEALTHY' && tried.retryDue && tried.failures < FAILED_STARTS_MAX;
  return isDue ? { check: { failures: tried.failures }, tried: [tried] } : { tried: [] };
}

/** The worker that may go first where one of the released version finds no place beside it, while as many are ready as are wanted. */
function yieldsOf(
  sample: ScaleSample, settings: ScaleSettings, { kept, earlier }: { kept: readonly WorkerSample[]; earlier: readonly WorkerSample[] },
  { target, wants }: { target: number; wants: boolean },
): { yields?: string } {
  const { rollout } = settings;
  if (!wants || !rollout || rollout.phase === 'AT_ONCE' || rollout.roomMade || sample.workers.some(({ desired }) => desired === 'DRAIN')) return {};
  const from = rollout.phase === 'BESIDE' ? kept : earlier;
  const ready = [...kept, ...earlier].filter(({ state }) => state === 'READY');
  if (ready.length < kept.length + earlier.length || ready.length < target) return {};
  const [first] = replacementOrder(from.filter(({ state }) => state === 'READY'));
  return first ? { yields: first.id } : {};
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
