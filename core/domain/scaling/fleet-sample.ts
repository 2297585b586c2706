/** Reduces machines, quota and competitors to what a scaling decision can depend on. Pure. */

import type { QuotaState } from '../accounts/quota.ts';
import type { OffloadBudget } from '../machines/standby-budget.ts';
import type { GpuContention } from './fair-share.ts';
import { fairShareText, reserveForOthers } from './fair-share.ts';
import type { GpuShare } from './gpu-reservation.ts';
import { reservableFor, reservationText, reserveForLarge } from './gpu-reservation.ts';
import type { FleetSample } from './place-workers.ts';
import { PLACED_MAX } from './place-workers.ts';
import type { PlacementSurvey } from './placement.ts';
import { onMachines, survey } from './placement.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';
import { whereImageIs } from './placement-machine.ts';
import type { PreemptionCandidates } from './preemption.ts';
import { preemptedFor, workersToPreempt } from './preemption.ts';
import type { DecisionSample } from './scale-decision.ts';
import { wishedChanges } from './scale-decision.ts';
import { chosenScaler } from './scale-target.ts';
import type { Scaler, WorkerSample } from './scaler.ts';
import type { MovableWorker, RestorableWorker } from './standby-restore.ts';
import { asMovable, withMovable } from './standby-restore.ts';

/** Share used if no other endpoint waits for GPUs. */
const NOBODY: GpuShare = { accountId: '', gpus: 0, weight: 1 };
/** Endpoints that compete for GPUs, and workers that may be preempted. */
interface Competitors {
  contention?: GpuContention | undefined;
  candidates?: PreemptionCandidates | undefined;
  /** The endpoint of the sample. Empty if no worker is preempted for it. */
  endpointId?: string;
  /** Running workers of other endpoints that may be offloaded. */
  movable?: readonly MovableWorker[] | undefined;
}

/**
 * Reduces all machines, the account's quota and the competitors to what the decision over this sample can depend on.
 */
export function fleetSample(
  sample: DecisionSample,
  machines: readonly PlacementMachine[],
  quota: QuotaState,
  scaler: Scaler = chosenScaler,
  { contention, candidates, endpointId = '', movable = [] }: Competitors = {},
): FleetSample {
  const { demand, settings } = sample;
  const { add, resume, freeze, offload, restorable } = wishedChanges(sample, scaler);
  const request = requestOf(onMachines(machines, whereImageIs(machines, settings)));
  const own = new Set(demand.workers.map(({ machineId }) => machineId));
  const capacity = machines
    .filter(({ id }) => own.has(id))
    .map(({ id, standbyMax, standbys }) => [id, Math.max(standbyMax - standbys.length, 0)] as const);
  const wanted = Math.min(add.length + resume.length, PLACED_MAX);
  const fair = contention && {
    ...contention,
    rivals: contention.rivals
      .map((rival) => ({ ...rival, request: onMachines(machines, rival.request) }))
      .filter((rival) => rival.request.gpuCount > 0),
  };
  const fairShares = reserveForOthers(machines, request, wanted, fair);
  const { ownSinceMs, waiters } = fair?.large ?? { ownSinceMs: 0, waiters: [] };
  const left = reserveForLarge(
    fairShares.machines,
    request,
    { ...(fair?.own ?? NOBODY), sinceMs: ownSinceMs },
    waiters,
    fair?.others ?? [],
  );
  const asleep = standbysOn(machines, left.gpuUuids).filter((id) => resume.includes(id));
  const kept = reservableFor(left.machines, request)?.gpuUuids.length;
  const asked = candidates ? workersToPreempt(left.machines, request, wanted, candidates) : [];
  const leaving = preemptedFor(machines, endpointId);
  const restores = restorableOf(demand.workers, restorable);
  const mayOffload = freeze.length + offload.length > 0 && settings.flashBoot && settings.standby !== 'GPU';
  const budgets = mayOffload ? budgetsOf(machines, own) : {};
  return {
    request,
    ...surveyWithMoves(withMovable(left.machines, movable), request, wanted, restores),
    quota,
    ...(restores.length > 0 && { restorable: restores }),
    ...(Object.keys(budgets).length > 0 && { budgets }),
    standbyRoom: Object.fromEntries(capacity),
    ...(fair && fairShares.slots > 0 && { heldBack: fairShareText(fair) }),
    ...(left.slots > 0 && { keptBack: reservationText(left.gpuCount) }),
    ...(asleep.length > 0 && { asleep }),
    ...(kept !== undefined && { kept }),
    ...(asked.length > 0 && { asked }),
    ...(leaving > 0 && { leaving }),
  };
}

/**
 * Returns the machines that matter, with those of offloaded workers. Running workers make way only if no machine can
 * take a worker otherwise.
 */
function surveyWithMoves(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
  wanted: number,
  restores: readonly RestorableWorker[],
): PlacementSurvey {
  const quiet = survey(machines, request, wanted);
  const moving = quiet.candidates.length > 0 ? [] : survey(machines.map(asMovable), request, wanted).candidates;
  const candidates = moving.length > 0 ? moving : quiet.candidates;
  const known = new Set(candidates.map(({ id }) => id));
  const others = machines.filter(({ id }) => !known.has(id) && restores.some(({ machineId }) => machineId === id));
  return { candidates: [...candidates, ...others], refused: quiet.refused };
}

/** Returns offloaded workers with their GPUs. */
function restorableOf(workers: readonly WorkerSample[], ids: readonly string[]): RestorableWorker[] {
  return ids.flatMap((workerId) => {
    const { machineId = '', offloaded } = workers.find(({ id }) => id === workerId) ?? {};
    return offloaded ? [{ workerId, machineId, ...offloaded }] : [];
  });
}

/** Returns the budgets of these machines for offloaded workers, as far as they have one. */
function budgetsOf(machines: readonly PlacementMachine[], ids: ReadonlySet<string>): Record<string, OffloadBudget> {
  return Object.fromEntries(
    machines.flatMap(({ id, offload }) => (ids.has(id) && offload ? [[id, offload] as const] : [])),
  );
}

/** Returns standby workers on these GPUs. */
function standbysOn(machines: readonly PlacementMachine[], gpuUuids: readonly string[]): string[] {
  if (gpuUuids.length === 0) return [];
  const all = machines.flatMap(({ standbys }) => standbys);
  return all
    .filter((standby) => standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid)))
    .map(({ workerId }) => workerId);
}

/**
 * Returns the fleet for the one worker that is started beside others. `machines`: as seen by the released version. It
 * preempts no worker: a temporary extra worker does not justify that.
 */
export function checkFleetSample(
  sample: DecisionSample,
  machines: readonly PlacementMachine[],
  quota: QuotaState,
  { contention }: Pick<Competitors, 'contention'> = {},
): FleetSample {
  const { fleet: _, checkFleet: __, settings, demand } = sample;
  const { rollout: ___, ...rest } = settings;
  const alone: DecisionSample = {
    demand: { ...demand, workers: [] },
    settings: { ...rest, ...settings.checked, workersMin: 1, workersMax: 1, scalerType: 'REQUEST_COUNT' },
  };
  return fleetSample(alone, machines, quota, () => ({ workers: 1, reason: '' }), { contention });
}

/**
 * Returns the requirements without other members of the endpoint, so that the log only contains what a decision depends
 * on.
 */
export function requestOf({
  imageName,
  gpuIds,
  gpuCount,
  instanceIds,
  locations,
  allowedCudaVersions,
  dataCenterIds,
  modelReferences = [],
  modelBytes = 0,
  imageOnMachines,
}: PlacementRequest): PlacementRequest {
  const models = modelReferences.length > 0 ? { modelReferences, modelBytes } : {};
  const needs = { imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds };
  return { ...needs, ...models, ...(imageOnMachines && { imageOnMachines }) };
}
