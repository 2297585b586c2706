/**
 * One turn of scaling as a value: what was seen of an endpoint in, what there is to do and why out. Pure: the sample of a decision, read back from
 * its log, gives the same decision again.
 */
import { heldBackText, setAside } from './fair-share.ts';
import type { GpuContest } from './fair-share.ts';
import type { GpuShare } from './gpu-share.ts';
import { askedToGo, givingWayTo, withGivingWay } from './giving-way.ts';
import type { GivingWay } from './giving-way.ts';
import { keepBack, keptBackText, keptFor } from './gpu-reservation.ts';
import { bestOf, occupied, onMachines, survey } from './placement.ts';
import type { PlacementPlace, Survey } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';
import { refusalOfAll, summed } from './placement-refusal.ts';
import type { PlacementRefusal } from './placement-refusal.ts';
import { quotaAfter, workerOverQuota } from './quota.ts';
import type { QuotaState } from './quota.ts';
import type { ScaleLimit, ScaleTarget } from './scale-target.ts';
import { chosenScaler } from './chosen-scaler.ts';
import { inWordsOf } from './scaler.ts';
import type { ScaleSample, ScaleSettings, Scaler } from './scaler.ts';
import { countStates } from './worker-counts.ts';
import type { StateCounts } from './worker-counts.ts';
import { reconcileWorkers } from './worker-reconcile.ts';
import type { WorkerChanges } from './worker-reconcile.ts';

/** What the owner chose, and what its workers ask of machines. */
export type DecisionSettings = ScaleSettings & PlacementRequest;

/** Machines and quota, as far as they matter for the workers that are to be placed, woken or frozen. */
export interface FleetSample extends Survey {
  /** What a worker needs where these machines are. */
  request: PlacementRequest;
  quota: QuotaState;
  /** Why places were set aside for other accounts (core/domain/fair-share.ts). Absent: none was. */
  heldBack?: string;
  /** Why GPUs were kept for larger workers (core/domain/gpu-reservation.ts). Absent: none were that could be had here. */
  keptBack?: string;
  /** Frozen workers of this endpoint that stay asleep, because what they have is kept. Absent: none. */
  asleep?: readonly string[];
  /** GPUs of one machine that are kept for a worker of this endpoint. Absent: none. */
  kept?: number;
  /** Workers of other endpoints that are to give way where one of this finds no place (core/domain/giving-way.ts). Absent: none. */
  asked?: readonly string[];
  /** Workers that give way to this endpoint and have not gone yet. Absent: none. */
  leaving?: number;
  /** Frozen workers that each machine with workers of this endpoint has room for. */
  standbyRoom: Readonly<Record<string, number>>;
}

/** Everything that a decision may depend on. */
export interface DecisionSample {
  demand: ScaleSample;
  settings: DecisionSettings;
  /** Absent: the decision does not need it (`needsFleet`). */
  fleet?: FleetSample;
}

/** One thing to do. */
export type WorkerAction =
  | ({ do: 'ADD'; failures: number } & PlacementPlace)
  | { do: 'WAKE' | 'FREEZE' | 'DRAIN' | 'RETIRE' | 'PREEMPT'; workerId: string };

/** What a turn comes to. */
export interface Decision extends ScaleTarget, PlacementRefusal {
  actions: readonly WorkerAction[];
  /** Workers that found no place. */
  throttled: number;
  numbers: DecisionNumbers;
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

/** Most workers that one turn places; the next turn goes on. */
export const PLACED_MAX = 200;
/** Whose share nobody asked for, because nobody waits. */
const NOBODY: GpuShare = { accountId: '', gpus: 0, weight: 1 };
/** Decisions of an endpoint that the log keeps, and for how many days. */
export const LOGGED_MAX = 1_000;
export const LOGGED_DAYS = 7;

/** What there would be to do if every wish could be met. */
export function wishedChanges({ demand, settings }: DecisionSample, scaler: Scaler = chosenScaler): WorkerChanges {
  return reconcileWorkers(demand, settings, scaler(demand, settings));
}

/** Whether the decision over this sample depends on machines and quota. */
export function needsFleet(sample: DecisionSample, scaler: Scaler = chosenScaler): boolean {
  const { add, wake, freeze } = wishedChanges(sample, scaler);
  return add.length + wake.length + freeze.length > 0;
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

/** Decides. */
export function decide(sample: DecisionSample, scaler: Scaler = chosenScaler): Decision {
  const changes = wishedChanges(sample, scaler);
  const frozen = freezable(sample, changes.freeze);
  const woken = wakeable(sample, changes);
  const missing = Array.from({ length: changes.wake.length - woken.length }, () => ({ failures: 0 }));
  const placed = placeAll(sample, [...changes.add, ...missing], woken, quotaWithout(sample, changes.retire, woken));
  const each = (what: 'WAKE' | 'FREEZE' | 'DRAIN' | 'RETIRE', ids: readonly string[]): WorkerAction[] => ids.map((workerId) => ({ do: what, workerId }));
  const { target, wished, reason } = changes;
  const { queued, oldestWaitMs, running, workers } = sample.demand;
  return {
    target, wished, reason,
    numbers: { queued, oldestWaitMs, running, workers: countStates(workers) },
    limits: [...changes.limits, ...placed.limits],
    actions: [
      ...each('RETIRE', changes.retire), ...each('FREEZE', frozen), ...each('WAKE', woken),
      ...each('DRAIN', [...changes.drain, ...changes.freeze.filter((id) => !frozen.includes(id))]), ...placed.actions,
    ],
    throttled: placed.throttled,
    refusal: inWordsOf(sample.settings, placed.refusal), refusalByMachine: inWordsOf(sample.settings, placed.refusalByMachine),
  };
}

/** Whether a decision says anything that the one before did not. What each machine says may change at every look, and is no news. */
export function isNews(decision: Decision, before: DecisionSummary | undefined): boolean {
  if (decision.actions.length > 0 || before === undefined) return true;
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

/** What placing came to. */
interface Placed extends PlacementRefusal {
  actions: WorkerAction[];
  throttled: number;
  limits: ScaleLimit[];
}

/** Places as many workers as there is room for, and says why the next one found no place. */
function placeAll({ fleet }: DecisionSample, wanted: readonly { failures: number }[], woken: readonly string[], quotaBefore: QuotaState): Placed {
  const actions: WorkerAction[] = [];
  const none = { actions, throttled: 0, refusal: '', refusalByMachine: '', limits: [] };
  if (!fleet || wanted.length === 0) return none;
  const machines = fleet.candidates.map((machine) => withAwake(machine, woken));
  let quota = quotaBefore;
  for (const { failures } of wanted.slice(0, PLACED_MAX)) {
    const place = bestOf(machines, fleet.request);
    const throttled = wanted.length - actions.length;
    if (!place) return { ...noPlace(fleet, machines, throttled), throttled, actions: [...actions, ...askedAway(fleet)] };
    const gpus = place.gpuUuids.length;
    const over = workerOverQuota(quota, gpus);
    if (over !== undefined) {
      return { actions, throttled, refusal: over, refusalByMachine: over, limits: [{ limit: 'QUOTA', cut: throttled, text: over }] };
    }
    quota = quotaAfter(quota, { workers: 1, gpus });
    const index = machines.findIndex((machine) => machine.id === place.machineId);
    machines[index] = occupied(machines[index]!, place);
    // Where others crashed it goes on with their series.
    actions.push({ do: 'ADD', failures: Math.max(failures, machines[index]!.crashes?.failures ?? 0), ...place });
  }
  const later = wanted.length - actions.length;
  if (later === 0) return none;
  return { ...none, limits: [{ limit: 'AT_ONCE', cut: later, text: `no more than ${PLACED_MAX} workers are placed at once; the next ones follow` }] };
}

/** The machine when these of its frozen workers are awake: what they have is not free for others. */
function withAwake(machine: PlacementMachine, woken: readonly string[]): PlacementMachine {
  const waking = machine.standbys.filter(({ workerId }) => woken.includes(workerId));
  return waking.reduce((after, { workerId, gpuUuids, instanceId }) => (
    occupied(after, { machineId: machine.id, gpuUuids: [...gpuUuids], instanceId, evicted: [workerId] })
  ), machine);
}

function askedAway({ asked = [] }: FleetSample): WorkerAction[] {
  return asked.map((workerId) => ({ do: 'PREEMPT', workerId }));
}

function noPlace(
  { request, refused, heldBack, keptBack, kept, asked = [], leaving = 0 }: FleetSample, machines: readonly PlacementMachine[], cut: number,
): PlacementRefusal & { limits: ScaleLimit[] } {
  if (heldBack !== undefined) return { refusal: heldBack, refusalByMachine: heldBack, limits: [{ limit: 'FAIR_SHARE', cut, text: heldBack }] };
  if (keptBack !== undefined) return { refusal: keptBack, refusalByMachine: keptBack, limits: [{ limit: 'KEPT_GPUS', cut, text: keptBack }] };
  const full = machines.map((machine) => ({ name: machine.name, answer: machineRefusal(machine, request)! }));
  const refusal = refusalOfAll(summed(full, refused), request, kept);
  const text = withGivingWay(refusal.refusal, asked.length + leaving);
  return { ...refusal, refusal: text, limits: [{ limit: 'NO_PLACE', cut, text }] };
}

/** Without whatever else an endpoint has: what a log keeps is what a decision depends on. */
function requestOf({ imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds }: PlacementRequest): PlacementRequest {
  return { imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds };
}
