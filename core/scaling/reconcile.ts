/**
 * Reconciles endpoints: sample, decide and commit, in one transaction. A decision is a value
 * (core/domain/scaling/scale-decision.ts); nothing is written before it is made.
 */

import type { Random } from '@slipway/kit/time/clock';
import { LINK_TIMERS } from '@slipway/proto/wire/link-timers';
import { withKnownIdleness } from '../domain/scaling/known-idleness.ts';
import type { MachineCrashes } from '../domain/scaling/machine-crashes.ts';
import { runsSomewhere, withCrashes } from '../domain/scaling/machine-crashes.ts';
import { occupied, placeWorker } from '../domain/scaling/placement.ts';
import type { PlacementMachine } from '../domain/scaling/placement-machine.ts';
import { withImages } from '../domain/scaling/placement-machine.ts';
import { preemptedFor, withPreemptions } from '../domain/scaling/preemption.ts';
import type { RolloutStep } from '../domain/scaling/rollout.ts';
import type { Decision, DecisionSample, DecisionSummary } from '../domain/scaling/scale-decision.ts';
import { decide, isNewDecision, needsFleet, sameCause, wishedChanges } from '../domain/scaling/scale-decision.ts';
import type { ScaleLimit } from '../domain/scaling/scale-target.ts';
import type { Scaler } from '../domain/scaling/scaler.ts';
import type { MovableWorker } from '../domain/scaling/standby-restore.ts';
import { asMovable, withMovable } from '../domain/scaling/standby-restore.ts';
import type { ReconcileChanges } from '../store/scaling/endpoint-reconcile.ts';
import type { EndpointSample } from '../store/scaling/scale-samples.ts';
import type { TransactionMonitor } from '../store/scaling/transaction-monitor.ts';
import type { Stores } from '../store/storage.ts';

/** Result of reconciling one endpoint. */
export interface ReconcileResult extends ReconcileChanges {
  throttled: number;
  /** Binding limits, each with the number of workers that it cuts. */
  limits: readonly ScaleLimit[];
  reason: string;
  /** Next step of its rollout. Absent if there is none. */
  rollout?: RolloutStep & { version: number };
}

/** An endpoint to reconcile, and workers of other endpoints that may be preempted or offloaded for it. */
interface ReconcileRequest {
  endpointId: string;
  preemptible: readonly string[];
  movable?: readonly string[];
}

/**
 * Returns for how long a worker without a report is known to be idle, in milliseconds. 0 until all facades and edges
 * had time to report. `linksStableMs`: for how long they have been able to.
 */
export function knownIdleMs(linksStableMs: number): number {
  return Math.max(linksStableMs - LINK_TIMERS.reportsSettleMs, 0);
}

/**
 * Reconciles endpoints together. Returns the result of each; endpoints that another replica has locked or that are
 * deleted are left out. `undefined` if the transaction lost a race for a GPU. `knownMs`: for how long workers without a
 * report are known to be idle.
 */
export async function reconcileEndpoints(
  store: Stores['scales'],
  requests: readonly ReconcileRequest[],
  scaler: Scaler,
  random: Random,
  monitor?: TransactionMonitor,
  knownMs = Infinity,
): Promise<Map<string, ReconcileResult> | undefined> {
  const results = new Map<string, ReconcileResult>();
  const others = new Map(requests.map(({ endpointId, movable = [], ...one }) => [endpointId, { ...one, movable }]));
  const committed = await store.reconcile(
    requests.map(({ endpointId }) => endpointId),
    async (endpointId, locked) => {
      const seen = withKnownIdleness(locked.sample, knownMs);
      const sample = needsFleet(seen, scaler)
        ? withKnownIdleness(await locked.withFleet(scaler, others.get(endpointId)!), knownMs)
        : seen;
      const decision = decide(sample, scaler);
      const changes = await locked.commit(decision, () => random.id(14));
      if (isNewDecision(decision, locked.previous)) locked.log(decision, sample);
      else if (decision.refusalByMachine !== locked.previous?.refusalByMachine) locked.updateRefusal(decision);
      const { throttled, limits, reason, refusalByMachine } = decision;
      const { rollout: step } = decision;
      const rollout = step && { ...step, version: sample.settings.rollout!.released };
      results.set(endpointId, {
        ...changes,
        throttled,
        limits,
        reason: refusalByMachine === '' ? reason : `${reason}; ${refusalByMachine}`,
        ...(rollout && { rollout }),
      });
    },
    monitor,
  );
  return committed ? results : undefined;
}

/**
 * Returns whether a reconcile over this sample would change nothing. `false` if that depends on machines, which only a
 * reconcile reads.
 */
export function isUpToDate(sample: DecisionSample, previous: DecisionSummary | undefined, scaler: Scaler): boolean {
  if (needsFleet(sample, scaler)) return false;
  const decision: Decision = decide(sample, scaler);
  return !isNewDecision(decision, previous);
}

/**
 * Returns whether the unplaced workers of an endpoint would be refused again with the same text, and nothing else is to
 * do. `machines`: all machines as they are now. `movable`: running workers of others that may be offloaded for it.
 */
export function isStillUnplaceable(
  { endpoint, sample, previous }: EndpointSample,
  machines: readonly PlacementMachine[] | undefined,
  crashes: readonly MachineCrashes[],
  scaler: Scaler,
  movable: readonly MovableWorker[] = [],
): boolean {
  if (!previous || !machines || previous.throttled === 0) return false;
  const { add, target, reason, ...changes } = wishedChanges(sample, scaler);
  const others = [changes.resume, changes.freeze, changes.offload, changes.drain, changes.retire];
  if (add.length !== previous.throttled || others.some(({ length }) => length > 0)) return false;
  if (target !== previous.target || !sameCause(reason, previous.reason)) return false;
  const own = withCrashes(machines, crashes, runsSomewhere(sample.demand.workers, sample.settings.version));
  if (movable.length > 0 && mayPlace(withMovable(own, movable).map(asMovable), sample)) return false;
  const placement = placeWorker(own, sample.settings);
  return (
    'refusal' in placement &&
    withPreemptions(placement.refusal, preemptedFor(machines, endpoint.id)) === previous.refusal
  );
}

/** Returns whether a worker can be placed, new or from host memory. */
function mayPlace(machines: readonly PlacementMachine[], { settings }: DecisionSample): boolean {
  return !('refusal' in placeWorker(machines, settings));
}

/**
 * Returns those unplaced endpoints, in order, that can be placed now beside each other. If one GPU becomes free, only
 * one endpoint is reconciled instead of all. The next resync finds what this misses: other slots, and the order by fair
 * shares. `imagesOf`: returns the machines that have the image of an endpoint, as far as that matters.
 */
export function placeableTogether(
  unplaced: readonly EndpointSample[],
  machines: readonly PlacementMachine[],
  crashes: ReadonlyMap<string, readonly MachineCrashes[]>,
  imagesOf: (endpoint: EndpointSample['endpoint']) => ReadonlySet<string> | undefined = () => undefined,
): EndpointSample[] {
  const left = new Map(machines.map((machine) => [machine.id, machine]));
  return unplaced.filter(({ endpoint, sample }) => {
    const own = withCrashes(
      withImages([...left.values()], imagesOf(endpoint)),
      crashes.get(endpoint.id) ?? [],
      runsSomewhere(sample.demand.workers, sample.settings.version),
    );
    const slot = placeWorker(own, sample.settings);
    if ('refusal' in slot) return false;
    left.set(slot.machineId, occupied(left.get(slot.machineId)!, slot));
    return true;
  });
}
