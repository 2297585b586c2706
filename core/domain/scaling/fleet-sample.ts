/** Reduces machines, quota and competitors to what a scaling decision can depend on. Pure. */

import type { QuotaState } from '../accounts/quota.ts';
import type { GpuContention } from './fair-share.ts';
import { fairShareText, reserveForOthers } from './fair-share.ts';
import type { GpuShare } from './gpu-reservation.ts';
import { reservableFor, reservationText, reserveForLarge } from './gpu-reservation.ts';
import type { FleetSample } from './place-workers.ts';
import { PLACED_MAX } from './place-workers.ts';
import { onMachines, survey } from './placement.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';
import type { PreemptionCandidates } from './preemption.ts';
import { preemptedFor, workersToPreempt } from './preemption.ts';
import type { DecisionSample } from './scale-decision.ts';
import { wishedChanges } from './scale-decision.ts';
import { chosenScaler } from './scale-target.ts';
import type { Scaler } from './scaler.ts';

/** Share used if nobody else waits for GPUs. */
const NOBODY: GpuShare = { accountId: '', gpus: 0, weight: 1 };
/** Endpoints that compete for GPUs, and workers that may be preempted. */
interface Competitors {
  contention?: GpuContention | undefined;
  candidates?: PreemptionCandidates | undefined;
  /** The endpoint of the sample. Empty if no worker is preempted for it. */
  endpointId?: string;
}

/**
 * Reduces all machines, the account's quota and the competitors to what the decision over this sample can depend on.
 */
export function fleetSample(
  sample: DecisionSample,
  machines: readonly PlacementMachine[],
  quota: QuotaState,
  scaler: Scaler = chosenScaler,
  { contention, candidates, endpointId = '' }: Competitors = {},
): FleetSample {
  const { demand, settings } = sample;
  const { add, resume } = wishedChanges(sample, scaler);
  const request = requestOf(onMachines(machines, settings));
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
  return {
    request,
    ...survey(left.machines, request, wanted),
    quota,
    standbyRoom: Object.fromEntries(capacity),
    ...(fair && fairShares.slots > 0 && { heldBack: fairShareText(fair) }),
    ...(left.slots > 0 && { keptBack: reservationText(left.gpuCount) }),
    ...(asleep.length > 0 && { asleep }),
    ...(kept !== undefined && { kept }),
    ...(asked.length > 0 && { asked }),
    ...(leaving > 0 && { leaving }),
  };
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
 * preempts nobody: a temporary extra worker does not justify that.
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
}: PlacementRequest): PlacementRequest {
  const models = modelReferences.length > 0 ? { modelReferences, modelBytes } : {};
  return { imageName, gpuIds, gpuCount, instanceIds, locations, allowedCudaVersions, dataCenterIds, ...models };
}
