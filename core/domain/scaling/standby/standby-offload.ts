/** Offloads standby workers to host memory where that is possible, and evicts them otherwise. Pure. */

import type { OffloadBudget } from '../../machines/standby-budget.ts';
import { budgetAfter, evictedForBudget } from '../../machines/standby-budget.ts';
import type { PlacementStandby } from './standby-eviction.ts';

/** Standby workers of a machine, and its budget for offloaded ones. */
interface StandbyMachine {
  standbys: readonly PlacementStandby[];
  offload?: OffloadBudget;
}

/** Standby workers that leave their GPUs. */
interface FreedStandbys {
  /** Workers that end. */
  evicted: string[];
  /** Workers that go to host memory. */
  offloaded: string[];
  /** Expected milliseconds until the GPUs are free. */
  waitMs: number;
}

/**
 * Decides for standby workers that must leave their GPUs (`leaving`) whether they are offloaded or end. `keep`: an
 * offloaded worker that must not be evicted for it. `undefined`: a running worker is among them that cannot be
 * offloaded.
 */
export function freedStandbys(
  { standbys, offload }: StandbyMachine,
  leaving: readonly string[],
  gpuUuids: readonly string[],
  keep?: string,
): FreedStandbys | undefined {
  const freed: FreedStandbys = { evicted: [], offloaded: [], waitMs: 0 };
  let budget: OffloadBudget | undefined = offload && {
    ...offload,
    offloaded: offload.offloaded.filter(({ workerId }) => workerId !== keep),
  };
  const those = leaving.map((workerId) => standbys.find((one) => one.workerId === workerId)!);
  // Running ones cannot end, so they come first.
  for (const standby of those.toSorted((a, b) => Number(b.running ?? false) - Number(a.running ?? false))) {
    const { workerId, offloadBytes, offloadMs = 0, running } = standby;
    const isOnGpu = standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid));
    const out =
      isOnGpu && budget && offloadBytes !== undefined
        ? evictedForBudget(budget, budget.offloaded, offloadBytes)
        : undefined;
    if (out && budget) {
      freed.offloaded.push(workerId);
      freed.evicted.push(...out);
      freed.waitMs = Math.max(freed.waitMs, offloadMs);
      budget = budgetAfter(budget, offloadBytes!, out);
    } else if (running) return undefined;
    else freed.evicted.push(workerId);
  }
  return freed;
}

/** Returns the budget of a machine after workers were offloaded and others were evicted. */
export function offloadAfter(
  { standbys }: StandbyMachine,
  budget: OffloadBudget,
  { offloaded, evicted }: Pick<FreedStandbys, 'offloaded' | 'evicted'>,
): OffloadBudget {
  const moved = standbys.filter(({ workerId }) => offloaded.includes(workerId));
  return budgetAfter(
    budget,
    moved.reduce((sum, { offloadBytes = 0 }) => sum + offloadBytes, 0),
    evicted,
  );
}
