/**
 * Places the workers that a decision asks for. Machines and quota go in as a value; actions and the reason for unplaced
 * workers come out. Pure.
 */

import type { QuotaState } from '../accounts/quota.ts';
import { quotaAfter, workerOverQuota } from '../accounts/quota.ts';
import type { OffloadBudget } from '../machines/standby-budget.ts';
import type { PlacementSlot, PlacementSurvey } from './placement.ts';
import { bestOf, occupied } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';
import type { PlacementRefusal } from './placement-refusal.ts';
import { refusalOfAll, summed } from './placement-refusal.ts';
import { withPreemptions } from './preemption.ts';
import type { ScaleLimit } from './scale-target.ts';
import type { RestorableWorker, RestoreSlot } from './standby-restore.ts';
import { bestRestore, isSoonerFresh, withoutMoves } from './standby-restore.ts';

/**
 * Machines and quota, as far as they matter for the workers to place, resume or put on standby. Logged with decisions:
 * member names are persisted.
 */
export interface FleetSample extends PlacementSurvey {
  /** Requirements of a worker on these machines. */
  request: PlacementRequest;
  quota: QuotaState;
  /** Why slots are reserved for other accounts (core/domain/scaling/fair-share.ts). Absent if none are. */
  heldBack?: string;
  /**
   * Why GPUs are reserved for larger workers (core/domain/scaling/gpu-reservation.ts). Absent if none are that this
   * endpoint could use.
   */
  keptBack?: string;
  /**
   * Standby workers of this endpoint that must not resume because their GPUs are reserved. Absent if there are none.
   */
  asleep?: readonly string[];
  /** Number of GPUs of one machine that are reserved for a worker of this endpoint. Absent if there are none. */
  kept?: number;
  /**
   * Workers of other endpoints to preempt if a worker of this one cannot be placed (core/domain/scaling/preemption.ts).
   * Absent if there are none.
   */
  asked?: readonly string[];
  /** Number of workers that are preempted for this endpoint and still draining. Absent if there are none. */
  leaving?: number;
  /** Number of further standby workers that each machine with workers of this endpoint can hold. */
  standbyRoom: Readonly<Record<string, number>>;
  /** Offloaded workers of this endpoint that may resume. Absent if there are none. */
  restorable?: readonly RestorableWorker[];
  /** Budgets of machines with workers of this endpoint that go on standby. Absent if none may be offloaded. */
  budgets?: Readonly<Record<string, OffloadBudget>>;
  /**
   * A ready worker of this endpoint whose stop would free a slot if there is none. Absent if there is no such worker,
   * or if it must stay.
   */
  yields?: string;
}

/** One action of a decision. */
export type WorkerAction =
  /** `version`: set if it differs from the scaled version. */
  | ({ do: 'ADD'; failures: number; version?: number } & PlacementSlot)
  | { do: 'WAKE' | 'FREEZE' | 'DRAIN' | 'RETIRE' | 'PREEMPT'; workerId: string }
  /** Resumes an offloaded worker on its GPUs. */
  | ({ do: 'RESTORE' } & RestoreSlot)
  /** Puts an idle worker on standby in host memory. `evicted`: offloaded workers that make way for it. */
  | { do: 'OFFLOAD'; workerId: string; evicted: readonly string[] };

/** Maximum number of workers that one reconcile places. The next reconcile continues. */
export const PLACED_MAX = 200;
/** Result of placing workers. */
export interface PlacedWorkers extends PlacementRefusal {
  actions: WorkerAction[];
  throttled: number;
  limits: ScaleLimit[];
  yields?: string | undefined;
}

/** Places as many workers as fit, and returns why the next one could not be placed. */
export function placeAll(
  fleet: FleetSample | undefined,
  wanted: readonly { failures: number }[],
  resumed: readonly string[],
  quotaBefore: QuotaState,
): PlacedWorkers {
  const actions: WorkerAction[] = [];
  const none = { actions, throttled: 0, refusal: '', refusalByMachine: '', limits: [] };
  if (!fleet || wanted.length === 0) return none;
  const { yields } = fleet;
  const machines = fleet.candidates.map((machine) => withResumed(machine, resumed));
  let quota = quotaBefore;
  let restorable = fleet.restorable ?? [];
  for (const { failures } of wanted.slice(0, PLACED_MAX)) {
    const restore = restoreFor(machines, restorable, fleet.request);
    const slot = restore ?? bestOf(machines, fleet.request);
    const throttled = wanted.length - actions.length;
    if (!slot)
      return {
        ...unplaced(fleet, machines, throttled),
        throttled,
        actions: [...actions, ...preemptActions(fleet)],
        yields,
      };
    const gpus = slot.gpuUuids.length;
    const over = workerOverQuota(quota, gpus);
    if (over !== undefined) {
      return {
        actions,
        throttled,
        refusal: over,
        refusalByMachine: over,
        limits: [{ limit: 'QUOTA', cut: throttled, text: over }],
        yields,
      };
    }
    quota = quotaAfter(quota, { workers: 1, gpus });
    const index = machines.findIndex((machine) => machine.id === slot.machineId);
    machines[index] = occupied(machines[index]!, slot);
    if (restore) {
      restorable = restorable.filter(({ workerId }) => workerId !== restore.workerId);
      actions.push({ do: 'RESTORE', ...restore });
      continue;
    }
    // A worker that follows crashes on this machine continues their series.
    actions.push({ do: 'ADD', failures: Math.max(failures, machines[index]!.crashes?.failures ?? 0), ...slot });
  }
  const later = wanted.length - actions.length;
  if (later === 0) return none;
  return {
    ...none,
    limits: [
      {
        limit: 'AT_ONCE',
        cut: later,
        text: `no more than ${PLACED_MAX} workers are placed at once; the next ones follow`,
      },
    ],
  };
}

/** Returns the offloaded worker to resume. `undefined`: none can, or a new one is expected to be ready sooner. */
function restoreFor(
  machines: readonly PlacementMachine[],
  restorable: readonly RestorableWorker[],
  request: PlacementRequest,
): RestoreSlot | undefined {
  const restore = bestRestore(machines, restorable);
  const { startMs } = restorable.find(({ workerId }) => workerId === restore?.workerId) ?? {};
  if (!restore || startMs === undefined) return restore;
  const prepared = machines.filter((machine) => isPrepared(machine, request));
  return isSoonerFresh(restore, startMs, bestOf(prepared, request)) ? undefined : restore;
}

/** Returns whether a new worker needs no download: the machine has its image and models. */
function isPrepared(
  { hasImage, models }: PlacementMachine,
  { imageName, modelReferences = [] }: PlacementRequest,
): boolean {
  return (imageName === '' || hasImage) && (modelReferences.length === 0 || models === 'READY');
}

/** Returns the machine after these standby workers resumed. Their resources are not free for others. */
function withResumed(machine: PlacementMachine, resumed: readonly string[]): PlacementMachine {
  const resuming = machine.standbys.filter(({ workerId }) => resumed.includes(workerId));
  return resuming.reduce(
    (after, { workerId, gpuUuids, instanceId }) =>
      occupied(after, { machineId: machine.id, gpuUuids: [...gpuUuids], instanceId, evicted: [workerId] }),
    machine,
  );
}

function preemptActions({ asked = [] }: FleetSample): WorkerAction[] {
  return asked.map((workerId) => ({ do: 'PREEMPT', workerId }));
}

function unplaced(
  { request, refused, heldBack, keptBack, kept, asked = [], leaving = 0 }: FleetSample,
  machines: readonly PlacementMachine[],
  cut: number,
): PlacementRefusal & { limits: ScaleLimit[] } {
  if (heldBack !== undefined)
    return { refusal: heldBack, refusalByMachine: heldBack, limits: [{ limit: 'FAIR_SHARE', cut, text: heldBack }] };
  if (keptBack !== undefined)
    return { refusal: keptBack, refusalByMachine: keptBack, limits: [{ limit: 'KEPT_GPUS', cut, text: keptBack }] };
  const full = machines.flatMap((machine) => {
    const answer = machineRefusal(machine, request) ?? machineRefusal(withoutMoves(machine), request);
    return answer ? [{ name: machine.name, answer }] : [];
  });
  const refusal = refusalOfAll(summed(full, refused), request, kept);
  const text = withPreemptions(refusal.refusal, asked.length + leaving);
  return { ...refusal, refusal: text, limits: [{ limit: 'NO_PLACE', cut, text }] };
}

/**
 * Limits unplaced workers to the `needed` ones. The others would only replace existing workers, so no job waits for
 * them.
 */
export function withoutReplacements(placed: PlacedWorkers, needed: number): PlacedWorkers {
  const { actions, throttled, limits, yields, ...refused } = placed;
  const short = Math.min(throttled, Math.max(needed - actions.filter(isPlaced).length, 0));
  if (short === throttled) return { ...refused, actions, throttled, limits };
  const own = actions.filter((action) => isPlaced(action) || short > 0);
  const first = own.length === 0 ? yields : undefined;
  if (short === 0) return { actions: own, throttled: 0, limits: [], refusal: '', refusalByMachine: '', yields: first };
  return {
    ...refused,
    actions: own,
    throttled: short,
    limits: limits.map((limit) => ({ ...limit, cut: Math.min(limit.cut, short) })),
    yields: first,
  };
}

function isPlaced({ do: what }: WorkerAction): boolean {
  return what === 'ADD' || what === 'RESTORE';
}
