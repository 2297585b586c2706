/**
 * One turn of scaling as a value: what was seen of an endpoint in, what there is to do and why out. Pure: the sample of a decision, read back from
 * its log, gives the same decision again.
 */
import { heldBackText, setAside } from './fair-share.ts';
import type { GpuContest } from './fair-share.ts';
import type { GpuShare } from './gpu-share.ts';
import { askedToGo, givingWayTo } from './giving-way.ts';
import type { GivingWay } from './giving-way.ts';
import { keepBack, keptBackText, keptFor } from './gpu-reservation.ts';
import { inExchange, placeAll, PLACED_MAX } from './place-workers.ts';
import type { FleetSample, Placed, WorkerAction } from './place-workers.ts';
import { onMachines, survey } from './placement.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';
import type { PlacementRefusal } from './placement-refusal.ts';
import { quotaAfter, workerOverQuota } from './quota.ts';
import type { QuotaState } from './quota.ts';
import type { ScaleTarget } from './scale-target.ts';
import { chosenScaler } from './chosen-scaler.ts';
import { inWordsOf } from './scaler.ts';
import type { ScaleSample, ScaleSettings, Scaler } from './scaler.ts';
import { countStates } from './worker-counts.ts';
import type { StateCounts } from './worker-counts.ts';
import { rolloutStep, scalerView } from './rollout.ts';
import type { RolloutStep } from './rollout.ts';
import { reconcileWorkers } from './worker-reconcile.ts';
import type { WorkerChanges } from './worker-reconcile.ts';

/** What the owner chose, and what its workers ask of machines. */
export type DecisionSettings = ScaleSettings & PlacementRequest & {
  /** What a worker of the released version asks of machines while that is checked. Absent: it is not. */
  checked?: PlacementRequest;
};

/** Everything that a decision may depend on. */
export interface DecisionSample {
  demand: ScaleSample;
  settings: DecisionSettings;
  /** Absent: the decision does not need it (`needsFleet`). */
  fleet?: FleetSample;
  /** The same for the worker of the released version that is started beside the others. Absent: none is. */
  checkFleet?: FleetSample;
}

/** What a turn comes to. */
export interface Decision extends ScaleTarget, PlacementRefusal {
  actions: readonly WorkerAction[];
  /** Workers that found no place. */
  throttled: number;
  numbers: DecisionNumbers;
  /** What becomes of a rollout. Absent: nothing new. */
  rollout?: RolloutStep;
}

/** What it was decided from, for people; jobs with lowPriority are left out. */
export interface DecisionNumbers {
  queued: number;
  oldestWaitMs: number;
  running: number;
  workers: StateCounts;
}

/** What of a decision is compared with the one before. */
export type DecisionSummary = Pick<Decision, 'target' | 'throttled' | 'reason' | 'refusal' | 'refusalByMachine'>;

/** Whose share nobody asked for, because nobody waits. */
const NOBODY: GpuShare = { accountId: '', gpus: 0, weight: 1 };
/** Decisions of an endpoint that the log keeps, and for how many days. */
export const LOGGED_MAX = 1_000;
export const LOGGED_DAYS = 7;

/** What there would be to do if every wish could be met. */
export function wishedChanges({ demand, settings }: DecisionSample, scaler: Scaler = chosenScaler): WorkerChanges {
  return reconcileWorkers(demand, settings, scaler(scalerView(demand, settings), settings));
}

/** Whether the decision over this sample depends on machines and quota. */
export function needsFleet(sample: DecisionSample, scaler: Scaler = chosenScaler): boolean {
  const { add, wake, freeze, check } = wishedChanges(sample, scaler);
  return add.length + wake.length + freeze.length > 0 || check !== undefined;
}

/** Who else wants GPUs, and who would do without. */
export interface Competitors {
  contest?: GpuContest | undefined;
  giving?: GivingWay | undefined;
  /** Of this sample. Empty: nobody gives way to it. */
  endpointId?: string;
}

/** All machines, the account's quota and who competes for GPUs, cut down to what the decision over this sample can depend on. */
export function fleetSample(
  sample: DecisionSample, machines: readonly PlacementMachine[], quota: QuotaState, scaler: Scaler = chosenScaler,
  { contest, giving, endpointId = '' }: Competitors = {},
): FleetSample {
  const { demand, settings } = sample;
  const { add, wake } = wishedChanges(sample, scaler);
  const request = requestOf(onMachines(machines, settings));
  const own = new Set(demand.workers.map(({ machineId }) => machineId));
  const room = machines.filter(({ id }) => own.has(id)).map(({ id, standbyMax, standbys }) => [id, Math.max(standbyMax - standbys.length, 0)] as const);
  const wanted = Math.min(add.length + wake.length, PLACED_MAX);
  const fair = contest && {
    ...contest,
    rivals: contest.rivals.map((rival) => ({ ...rival, request: onMachines(machines, rival.request) })).filter((rival) => rival.request.gpuCount > 0),
  };
  const aside = setAside(machines, request, wanted, fair);
  const { ownSinceMs, waiters } = fair?.large ?? { ownSinceMs: 0, waiters: [] };
  const left = keepBack(aside.machines, request, { ...fair?.own ?? NOBODY, sinceMs: ownSinceMs }, waiters, fair?.others ?? []);
  const asleep = standbysOn(machines, left.gpuUuids).filter((id) => wake.includes(id));
  const kept = keptFor(left.machines, request)?.gpuUuids.length;
  const asked = giving ? askedToGo(left.machines, request, wanted, giving) : [];
  const leaving = givingWayTo(machines, endpointId);
  return {
    request, ...survey(left.machines, request, wanted), quota, standbyRoom: Object.fromEntries(room),
    ...(fair && aside.places > 0 && { heldBack: heldBackText(fair) }), ...(left.places > 0 && { keptBack: keptBackText(left.gpuCount) }),
    ...(asleep.length > 0 && { asleep }), ...(kept !== undefined && { kept }),
    ...(asked.length > 0 && { asked }), ...(leaving > 0 && { leaving }),
  };
}

/** Frozen workers that have some of these GPUs. */
function standbysOn(machines: readonly PlacementMachine[], gpuUuids: readonly string[]): string[] {
  if (gpuUuids.length === 0) return [];
  const all = machines.flatMap(({ standbys }) => standbys);
  return all.filter((standby) => standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid))).map(({ workerId }) => workerId);
}

/**
 * What the one worker that is started beside others can depend on. `machines`: as the released version sees them. It asks nobody else to give way: that an
 * endpoint has more workers than it wants for a while is no reason for that.
 */
export function checkFleetSample(
  sample: DecisionSample, machines: readonly PlacementMachine[], quota: QuotaState, { contest }: Pick<Competitors, 'contest'> = {},
): FleetSample {
  const { fleet: _, checkFleet: __, settings, demand } = sample;
  const { rollout: ___, ...rest } = settings;
  const alone: DecisionSample = {
    demand: { ...demand, workers: [] }, settings: { ...rest, ...settings.checked, workersMin: 1, workersMax: 1, scalerType: 'REQUEST_COUNT' },
  };
  return fleetSample(alone, machines, quota, () => ({ workers: 1, reason: '' }), { contest });
}

/** Decides. */
export function decide(sample: DecisionSample, scaler: Scaler = chosenScaler): Decision {
  const changes = wishedChanges(sample, scaler);
  const step = rolloutStep(sample.demand, sample.settings);
  const frozen = freezable(sample, changes.freeze);
  const woken = wakeable(sample, changes);
  const missing = Array.from({ length: changes.wake.length - woken.length }, () => ({ failures: 0 }));
  const quota = quotaWithout(sample, changes.retire, woken);
  // What is held is not started once more.
  const wanted = step?.state === 'HELD' ? [] : [...changes.add, ...missing];
  const placed = inExchange(placeAll(sample.fleet, wanted, woken, quota), changes.needed + missing.length);
  const checked = placedBeside(sample, changes, placed, quota);
  const yielded = placed.yields ?? checked.yields;
  const each = (what: 'WAKE' | 'FREEZE' | 'DRAIN' | 'RETIRE', ids: readonly string[]): WorkerAction[] => ids.map((workerId) => ({ do: what, workerId }));
  const { target, wished, reason } = changes;
  const { queued, oldestWaitMs, running, workers } = sample.demand;
  const rollout = { ...step, ...checked.step };
  return {
    target, wished, reason,
    numbers: { queued, oldestWaitMs, running, workers: countStates(workers) },
    limits: [...changes.limits, ...placed.limits],
    actions: [
      ...each('RETIRE', changes.retire), ...each('FREEZE', frozen), ...each('WAKE', woken),
      ...each('DRAIN', [...changes.drain, ...changes.freeze.filter((id) => !frozen.includes(id)), ...(yielded === undefined ? [] : [yielded])]),
      ...placed.actions, ...checked.actions,
    ],
    throttled: placed.throttled,
    refusal: inWordsOf(sample.settings, placed.refusal), refusalByMachine: inWordsOf(sample.settings, placed.refusalByMachine),
    ...(Object.keys(rollout).length > 0 && { rollout }),
  };
}

/** The worker of the released version, where none of the scaled one was placed now: both were to get the same place. */
function placedBeside(
  sample: DecisionSample, { check }: WorkerChanges, placed: Placed, quota: QuotaState,
): { actions: WorkerAction[]; step: RolloutStep; yields?: string | undefined } {
  const rollout = sample.settings.rollout;
  if (!check || !rollout || !sample.checkFleet || placed.actions.some(({ do: what }) => what === 'ADD')) return { actions: [], step: {} };
  const beside = placeAll(sample.checkFleet, [check], [], quota);
  const adds = beside.actions.flatMap((action) => (action.do === 'ADD' ? [{ ...action, version: rollout.released }] : []));
  // Where nothing asks for one, none that others keep frozen goes for it.
  if (rollout.phase === 'REPLACE') return { actions: adds.filter(({ evicted }) => evicted.length === 0), step: { checked: true } };
  const { yields } = beside;
  return { actions: adds, step: adds.length === 0 && yields !== undefined ? { roomMade: true } : {}, yields: adds.length === 0 ? yields : undefined };
}

/** Whether a decision says anything that the one before did not. What each machine says may change at every look, and is no news. */
export function isNews(decision: Decision, before: DecisionSummary | undefined): boolean {
  if (decision.actions.length > 0 || decision.rollout !== undefined || before === undefined) return true;
  return decision.target !== before.target || decision.throttled !== before.throttled || !sameCause(decision.reason, before.reason)
    || decision.refusal !== before.refusal;
}

/** Whether two reasons are the same but for the numbers that they end with, in parentheses. */
export function sameCause(a: string, b: string): boolean {
  return causeOf(a) === causeOf(b);
}

function causeOf(reason: string): string {
  return reason.replace(/ \(\d[^()]*\)/, '');
}

/** Idle workers that their machines have room for when frozen, the last busy first. */
function freezable({ demand, fleet }: DecisionSample, ids: readonly string[]): string[] {
  const room = new Map(Object.entries(fleet?.standbyRoom ?? {}));
  const idle = demand.workers.filter(({ id }) => ids.includes(id)).sort((a, b) => a.idleMs - b.idleMs || (a.id < b.id ? -1 : 1));
  return idle.flatMap(({ id, machineId }) => {
    const free = room.get(machineId) ?? 0;
    room.set(machineId, free - 1);
    return free > 0 ? [id] : [];
  });
}

/**
 * Frozen workers to wake, as many as the quota has room for, and none whose GPUs are kept for others. Instead of the rest new ones are to be placed,
 * which says what refuses them.
 */
function wakeable(sample: DecisionSample, { wake, retire }: WorkerChanges): string[] {
  let quota = quotaWithout(sample, retire, []);
  return wake.filter((id) => {
    const gpus = gpusOf(sample, id);
    if (sample.fleet?.asleep?.includes(id) || workerOverQuota(quota, gpus) !== undefined) return false;
    quota = quotaAfter(quota, { workers: 1, gpus });
    return true;
  });
}

/** The account's quota when some of its workers, which crashed and have no GPUs any more, are given up and others woken. */
function quotaWithout(sample: DecisionSample, retired: readonly string[], woken: readonly string[]): QuotaState {
  const quota = sample.fleet?.quota ?? { quota: { workers: null, gpus: null }, use: { workers: 0, gpus: 0 } };
  const counting = retired.filter((id) => sample.demand.workers.some((worker) => worker.id === id && worker.desired !== 'FREEZE'));
  const gpus = woken.reduce((sum, id) => sum + gpusOf(sample, id), 0);
  return quotaAfter(quota, { workers: woken.length - counting.length, gpus });
}

function gpusOf({ demand }: DecisionSample, workerId: string): number {
  return demand.workers.find(({ id }) => id === workerId)?.gpus ?? 0;
}

/** Without whatever else an endpoint has: what a log keeps is what a decision depends on. */
export function requestOf({ imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds }: PlacementRequest): PlacementRequest {
  return { imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds };
}
