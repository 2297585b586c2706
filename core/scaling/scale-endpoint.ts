/** Turns of endpoints: sample, decide, commit, in one transaction. A decision is a value (core/domain/scale-decision.ts); nothing is written before it. */
import { LINK_TIMERS } from '../../proto/wire/link-timers.ts';
import { givingWayTo, withGivingWay } from '../domain/giving-way.ts';
import { runsSomewhere, withCrashes } from '../domain/machine-crashes.ts';
import type { MachineCrashes } from '../domain/machine-crashes.ts';
import { occupied, placeWorker } from '../domain/placement.ts';
import type { PlacementMachine } from '../domain/placement-filters.ts';
import { withKnownIdleness } from '../domain/known-idleness.ts';
import { decide, isNews, needsFleet, sameCause, wishedChanges } from '../domain/scale-decision.ts';
import type { Decision, DecisionSample, DecisionSummary } from '../domain/scale-decision.ts';
import type { RolloutStep } from '../domain/rollout.ts';
import type { ScaleLimit } from '../domain/scale-target.ts';
import type { Scaler } from '../domain/scaler.ts';
import type { Random } from '../runtime/clock.ts';
import type { EndpointSample } from '../store/scale-samples.ts';
import type { TurnChanges } from '../store/scale-turn.ts';
import type { Stores } from '../store/storage.ts';
import type { TurnCourse } from '../store/turn-course.ts';

/** What a turn did. */
export interface ScaleResult extends TurnChanges {
  throttled: number;
  /** What binds, each with the workers that there would be without it. */
  limits: readonly ScaleLimit[];
  reason: string;
  /** What became of its rollout. Absent: nothing new. */
  rollout?: RolloutStep & { version: number };
}

/** An endpoint whose turn it is, and workers of others that may give way to it. */
export interface TurnAsked {
  endpointId: string;
  dispensable: readonly string[];
}

/** Returns how long a worker is known to be idle of which nobody has spoken for `steadyMs`, in milliseconds: not before everybody had time to. */
export function knownIdleMs(steadyMs: number): number {
  return Math.max(steadyMs - LINK_TIMERS.reportsSettleMs, 0);
}

/**
 * Takes turns together. Answers those that were taken: another replica may have one, or the endpoint may be gone. `knownMs`: for how long workers of which
 * nobody speaks are known to be idle.
 */
export async function scaleEndpoints(
  store: Stores['scales'], asked: readonly TurnAsked[], scaler: Scaler, random: Random, course?: TurnCourse, knownMs = Infinity,
): Promise<Map<string, ScaleResult> | undefined> {
  const results = new Map<string, ScaleResult>();
  const dispensable = new Map(asked.map((one) => [one.endpointId, one.dispensable]));
  const taken = await store.takeTurns(asked.map(({ endpointId }) => endpointId), async (endpointId, turn) => {
    const seen = withKnownIdleness(turn.sample, knownMs);
    const sample = needsFleet(seen, scaler) ? withKnownIdleness(await turn.withFleet(scaler, dispensable.get(endpointId) ?? []), knownMs) : seen;
    const decision = decide(sample, scaler);
    const changes = await turn.commit(decision, () => random.id(14));
    if (isNews(decision, turn.before)) turn.log(decision, sample);
    else if (decision.refusalByMachine !== turn.before?.refusalByMachine) turn.note(decision);
    const { throttled, limits, reason, refusalByMachine } = decision;
    const { rollout: step } = decision;
    const rollout = step && { ...step, version: sample.settings.rollout!.released };
    results.set(endpointId, {
      ...changes, throttled, limits, reason: refusalByMachine === '' ? reason : `${reason}; ${refusalByMachine}`, ...(rollout && { rollout }),
    });
  }, course);
  return taken ? results : undefined;
}

/** Whether a turn over this sample would come to nothing: then none is taken. What depends on machines is only known in a turn. */
export function isQuiet(sample: DecisionSample, before: DecisionSummary | undefined, scaler: Scaler): boolean {
  if (needsFleet(sample, scaler)) return false;
  const decision: Decision = decide(sample, scaler);
  return !isNews(decision, before);
}

/** Whether what was refused at the last turn would be refused again in the same words, and there is nothing else to do. `machines`: all, as they are now. */
export function isStuck(
  { endpoint, sample, before }: EndpointSample, machines: readonly PlacementMachine[] | undefined, crashes: readonly MachineCrashes[], scaler: Scaler,
): boolean {
  if (!before || !machines || before.throttled === 0) return false;
  const { add, wake, freeze, drain, retire, target, reason } = wishedChanges(sample, scaler);
  if (add.length !== before.throttled || wake.length + freeze.length + drain.length + retire.length > 0) return false;
  if (target !== before.target || !sameCause(reason, before.reason)) return false;
  const own = withCrashes(machines, crashes, runsSomewhere(sample.demand.workers, sample.settings.version));
  const placement = placeWorker(own, sample.settings);
  return 'refusal' in placement && withGivingWay(placement.refusal, givingWayTo(machines, endpoint.id)) === before.refusal;
}

/**
 * Of endpoints that found no place, in this order, those that find one now beside each other: where one GPU came free, all would have a turn that comes to
 * nothing but for one. Whom another place would suit, or who goes first by fair shares, the next look at all sees.
 */
export function placedTogether(
  refused: readonly EndpointSample[], machines: readonly PlacementMachine[], crashes: ReadonlyMap<string, readonly MachineCrashes[]>,
): EndpointSample[] {
  const left = new Map(machines.map((machine) => [machine.id, machine]));
  return refused.filter(({ endpoint, sample }) => {
    const own = withCrashes([...left.values()], crashes.get(endpoint.id) ?? [], runsSomewhere(sample.demand.workers, sample.settings.version));
    const place = placeWorker(own, sample.settings);
    if ('refusal' in place) return false;
    left.set(place.machineId, occupied(left.get(place.machineId)!, place));
    return true;
  });
}
