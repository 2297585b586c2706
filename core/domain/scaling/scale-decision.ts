/**
 * One scaling decision as a value: a sample of an endpoint goes in, actions and their reason come out. Pure: the sample
 * of a logged decision gives the same decision again.
 */

import type { QuotaState } from '../accounts/quota.ts';
import { quotaAfter, workerOverQuota } from '../accounts/quota.ts';
import { budgetAfter, evictedForBudget } from '../machines/standby-budget.ts';
import type { FleetSample, PlacedWorkers, WorkerAction } from './place-workers.ts';
import { placeAll, withoutReplacements } from './place-workers.ts';
import type { PlacementRequest } from './placement-machine.ts';
import type { PlacementRefusal } from './placement-refusal.ts';
import type { RolloutStep } from './rollout.ts';
import { rolloutStep, scalerView } from './rollout.ts';
import type { ScaleTarget } from './scale-target.ts';
import { chosenScaler } from './scale-target.ts';
import type { Scaler, ScaleSample, ScaleSettings } from './scaler.ts';
import { inWordsOf } from './scaler.ts';
import type { StateCounts } from './worker-counts.ts';
import { countStates } from './worker-counts.ts';
import type { WorkerChanges } from './worker-reconcile.ts';
import { reconcileWorkers } from './worker-reconcile.ts';

/** Settings of the owner, with the requirements of the endpoint's workers. */
export type DecisionSettings = ScaleSettings &
  PlacementRequest & {
    /** Requirements of a worker of the released version while that is checked. Absent if none is checked. */
    checked?: PlacementRequest;
  };

/** An idle worker to put on standby. */
type StandbyAction = Extract<WorkerAction, { do: 'OFFLOAD' }> | { do: 'FREEZE'; workerId: string };

/** Everything that a decision may depend on. Logged with the decision: member names are persisted. */
export interface DecisionSample {
  demand: ScaleSample;
  settings: DecisionSettings;
  /** Machines and quota. Absent if the decision does not need them (`needsFleet`). */
  fleet?: FleetSample;
  /** The same for a worker of the released version that is started beside the others. Absent if none is. */
  checkFleet?: FleetSample;
}

/** Result of a decision. */
export interface Decision extends ScaleTarget, PlacementRefusal {
  actions: readonly WorkerAction[];
  /** Number of unplaced workers. */
  throttled: number;
  numbers: DecisionNumbers;
  /** Next step of a rollout. Absent if there is none. */
  rollout?: RolloutStep;
}

/** Input of the decision, for people. Jobs with lowPriority are left out. */
export interface DecisionNumbers {
  queued: number;
  oldestWaitMs: number;
  running: number;
  workers: StateCounts;
}

/** The part of a decision that is compared with the previous one. */
export type DecisionSummary = Pick<Decision, 'target' | 'throttled' | 'reason' | 'refusal' | 'refusalByMachine'>;

/** Maximum number and age in days of logged decisions per endpoint. */
export const LOGGED_MAX = 1_000;
export const LOGGED_DAYS = 7;

/** Returns the changes without the limits of machines and quota. */
export function wishedChanges({ demand, settings }: DecisionSample, scaler: Scaler = chosenScaler): WorkerChanges {
  return reconcileWorkers(demand, settings, scaler(scalerView(demand, settings), settings));
}

/** Returns whether the decision over this sample depends on machines and quota. */
export function needsFleet(sample: DecisionSample, scaler: Scaler = chosenScaler): boolean {
  const { add, resume, freeze, offload, check } = wishedChanges(sample, scaler);
  return add.length + resume.length + freeze.length + offload.length > 0 || check !== undefined;
}

/** Makes the decision over a sample. */
export function decide(sample: DecisionSample, scaler: Scaler = chosenScaler): Decision {
  const changes = wishedChanges(sample, scaler);
  const step = rolloutStep(sample.demand, sample.settings);
  const standby = freezable(sample, changes);
  const frozen = standby.map(({ workerId }) => workerId);
  const resumed = resumable(sample, changes);
  const missing = Array.from({ length: changes.resume.length - resumed.length }, () => ({ failures: 0 }));
  const quota = quotaWithout(sample, changes.retire, resumed);
  // A version on hold is not started again.
  const wanted = step?.state === 'HELD' ? [] : [...changes.add, ...missing];
  const placed = withoutReplacements(placeAll(sample.fleet, wanted, resumed, quota), changes.needed + missing.length);
  const checked = placeChecked(sample, changes, placed, quota);
  const yielded = placed.yields ?? checked.yields;
  const each = (what: 'WAKE' | 'DRAIN' | 'RETIRE', ids: readonly string[]): WorkerAction[] =>
    ids.map((workerId) => ({ do: what, workerId }));
  const { target, wished, reason } = changes;
  const { queued, oldestWaitMs, running, workers } = sample.demand;
  const rollout = { ...step, ...checked.step };
  return {
    target,
    wished,
    reason,
    numbers: { queued, oldestWaitMs, running, workers: countStates(workers) },
    limits: [...changes.limits, ...placed.limits],
    actions: [
      ...each('RETIRE', changes.retire),
      ...standby,
      ...each('WAKE', resumed),
      ...each('DRAIN', [
        ...changes.drain,
        ...[...changes.freeze, ...changes.offload].filter((id) => !frozen.includes(id)),
        ...(yielded === undefined ? [] : [yielded]),
      ]),
      ...placed.actions,
      ...checked.actions,
    ],
    throttled: placed.throttled,
    refusal: inWordsOf(sample.settings, placed.refusal),
    refusalByMachine: inWordsOf(sample.settings, placed.refusalByMachine),
    ...(Object.keys(rollout).length > 0 && { rollout }),
  };
}

/**
 * Places the worker of the released version. Skipped if a worker of the scaled version was placed now, as both could
 * get the same slot.
 */
function placeChecked(
  sample: DecisionSample,
  { check }: WorkerChanges,
  placed: PlacedWorkers,
  quota: QuotaState,
): { actions: WorkerAction[]; step: RolloutStep; yields?: string | undefined } {
  const rollout = sample.settings.rollout;
  if (
    !check ||
    !rollout ||
    !sample.checkFleet ||
    placed.actions.some(({ do: what }) => what === 'ADD' || what === 'RESTORE')
  )
    return { actions: [], step: {} };
  const beside = placeAll(sample.checkFleet, [check], [], quota);
  const adds = beside.actions.flatMap((action) =>
    action.do === 'ADD' ? [{ ...action, version: rollout.released }] : [],
  );
  // A worker that no job needs evicts no standby worker.
  if (rollout.phase === 'REPLACE')
    return { actions: adds.filter(({ evicted }) => evicted.length === 0), step: { checked: true } };
  const { yields } = beside;
  return {
    actions: adds,
    step: adds.length === 0 && yields !== undefined ? { roomMade: true } : {},
    yields: adds.length === 0 ? yields : undefined,
  };
}

/**
 * Returns whether a decision differs from the previous one. The refusals of single machines change often and do not
 * count.
 */
export function isNewDecision(decision: Decision, before: DecisionSummary | undefined): boolean {
  if (decision.actions.length > 0 || decision.rollout !== undefined || before === undefined) return true;
  return (
    decision.target !== before.target ||
    decision.throttled !== before.throttled ||
    !sameCause(decision.reason, before.reason) ||
    decision.refusal !== before.refusal
  );
}

/** Returns whether two reasons are equal, apart from the numbers in parentheses at their end. */
export function sameCause(a: string, b: string): boolean {
  return causeOf(a) === causeOf(b);
}

function causeOf(reason: string): string {
  return reason.replace(/ \(\d[^()]*\)/, '');
}

/**
 * Returns the idle workers that their machines can put on standby, most recently busy first: on their GPU, or in host
 * memory if the endpoint asks for that or there is no other room. Those that were on their GPU for too long (`offload`)
 * only go to host memory.
 */
function freezable(
  { demand, fleet, settings }: DecisionSample,
  { freeze, offload }: Pick<WorkerChanges, 'freeze' | 'offload'>,
): StandbyAction[] {
  const capacity = new Map(Object.entries(fleet?.standbyRoom ?? {}));
  const budgets = new Map(Object.entries(fleet?.budgets ?? {}));
  const idle = demand.workers
    .filter(({ id }) => freeze.includes(id) || offload.includes(id))
    .sort((a, b) => a.idleMs - b.idleMs || (a.id < b.id ? -1 : 1));
  return idle.flatMap(({ id: workerId, machineId, gpus, gpuBytes = 0 }): StandbyAction[] => {
    const free = offload.includes(workerId) ? 0 : (capacity.get(machineId) ?? 0);
    const budget = gpus > 0 && (settings.standby === 'HOST' || free <= 0) ? budgets.get(machineId) : undefined;
    const evicted = budget && evictedForBudget(budget, budget.offloaded, gpuBytes);
    if (budget && evicted) {
      budgets.set(machineId, budgetAfter(budget, gpuBytes, evicted));
      return [{ do: 'OFFLOAD', workerId, evicted }];
    }
    if (free > 0) capacity.set(machineId, free - 1);
    return free > 0 ? [{ do: 'FREEZE', workerId }] : [];
  });
}

/**
 * Returns the standby workers to resume, within the quota, without those whose GPUs are reserved for others. New
 * workers are placed instead of the rest, which gives the reason if that fails.
 */
function resumable(sample: DecisionSample, { resume, retire }: WorkerChanges): string[] {
  let quota = quotaWithout(sample, retire, []);
  return resume.filter((id) => {
    const gpus = gpusOf(sample, id);
    if (sample.fleet?.asleep?.includes(id) || workerOverQuota(quota, gpus) !== undefined) return false;
    quota = quotaAfter(quota, { workers: 1, gpus });
    return true;
  });
}

/** Returns the account's quota after crashed workers without GPUs were retired and standby workers resumed. */
function quotaWithout(sample: DecisionSample, retired: readonly string[], resumed: readonly string[]): QuotaState {
  const quota = sample.fleet?.quota ?? { quota: { workers: null, gpus: null }, use: { workers: 0, gpus: 0 } };
  const counting = retired.filter((id) =>
    sample.demand.workers.some((worker) => worker.id === id && worker.desired !== 'FREEZE'),
  );
  const gpus = resumed.reduce((sum, id) => sum + gpusOf(sample, id), 0);
  return quotaAfter(quota, { workers: resumed.length - counting.length, gpus });
}

function gpusOf({ demand }: DecisionSample, workerId: string): number {
  return demand.workers.find(({ id }) => id === workerId)?.gpus ?? 0;
}
