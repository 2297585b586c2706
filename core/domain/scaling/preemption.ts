/**
 * Preemption: workers that only run jobs of low priority make way for a worker that cannot be placed. A preempted
 * worker takes no more jobs and stops after its current ones. No job is interrupted. Pure.
 */

import { choice } from './gpu-choice.ts';
import type { GpuShare } from './gpu-reservation.ts';
import { bestOf, occupied } from './placement.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';
import type { ScaleLimit } from './scale-target.ts';
import type { ScaleSample, ScaleSettings, WorkerSample } from './scaler.ts';

/** A worker whose GPUs become free, or would if it were preempted. */
export interface PreemptibleWorker {
  id: string;
  accountId: string;
  machineId: string;
  gpuUuids: readonly string[];
  /** It is already draining. */
  draining: boolean;
}

/** Workers that may be preempted, with the share of each account concerned. */
export interface PreemptionCandidates {
  own: GpuShare;
  others: readonly GpuShare[];
  workers: readonly PreemptibleWorker[];
}

/**
 * Returns the workers of an endpoint that may be preempted. They hold only jobs of low priority, no job of normal
 * priority waits, and workersMin does not need them.
 */
export function preemptibleWorkers(
  { queued, workers }: ScaleSample,
  { workersMin }: Pick<ScaleSettings, 'workersMin'>,
): WorkerSample[] {
  if (queued > 0) return [];
  const present = workers.filter(({ desired }) => desired === 'RUN');
  const low = present.filter(({ lowOnly, state, gpus }) => lowOnly === true && state === 'READY' && gpus > 0);
  return low.slice(0, Math.max(present.length - workersMin, 0));
}

/**
 * Returns the workers to preempt so that `wanted` more workers can be placed. None are preempted for workers that can
 * be placed now or after the drains in progress. A worker of another account is only preempted while that account has
 * no fewer GPUs for its weight than this one would have.
 */
export function workersToPreempt(
  all: readonly PlacementMachine[],
  request: PlacementRequest,
  wanted: number,
  { own, others, workers }: PreemptionCandidates,
): string[] {
  if (request.gpuCount === 0 || wanted === 0) return [];
  let machines = freed(
    all,
    workers.filter(({ draining }) => draining),
  );
  let left = wanted;
  for (let slot = bestOf(machines, request); slot && left > 0; slot = bestOf(machines, request)) {
    const { machineId } = slot;
    const given = slot;
    machines = machines.map((machine) => (machine.id === machineId ? occupied(machine, given) : machine));
    left -= 1;
  }
  const shares = new Map([own, ...others].map((share) => [share.accountId, { ...share }]));
  const ownShare = shares.get(own.accountId)!;
  const asked = new Set<string>();
  // The set of preemptible workers only shrinks. So a result for a machine stays valid until one of its workers leaves
  // the set or the machine changes.
  const found = new Map<string, Fewest | undefined>();
  for (; left > 0; left -= 1) {
    const mayGo = workers.filter(({ id, accountId, draining }) => {
      const theirs = shares.get(accountId);
      const fair =
        theirs &&
        (accountId === own.accountId ||
          (ownShare.gpus + request.gpuCount) / ownShare.weight <= theirs.gpus / theirs.weight);
      return !draining && fair && !asked.has(id);
    });
    const allowed = new Set(mayGo);
    for (const machine of machines) {
      const known = found.get(machine.id);
      if (!found.has(machine.id) || known?.workers.some((worker) => !allowed.has(worker)))
        found.set(machine.id, fewestOf(machine, request, mayGo));
    }
    const fewest = machines
      .map(({ id }) => found.get(id))
      .filter((some) => some !== undefined)
      .toSorted((a, b) => a.workers.length - b.workers.length)[0];
    if (!fewest) break;
    for (const { id } of fewest.workers) asked.add(id);
    ownShare.gpus += request.gpuCount;
    for (const { accountId, gpuUuids } of fewest.workers) shares.get(accountId)!.gpus -= gpuUuids.length;
    machines = machines.map((machine) => (machine.id === fewest.machine.id ? fewest.machine : machine));
    found.delete(fewest.machine.id);
  }
  return [...asked];
}

/** The fewest workers of a machine that free enough GPUs, and the machine with the new worker in their place. */
interface Fewest {
  workers: PreemptibleWorker[];
  machine: PlacementMachine;
}

/** Returns `undefined` if not even all of them free enough. */
function fewestOf(
  machine: PlacementMachine,
  request: PlacementRequest,
  mayGo: readonly PreemptibleWorker[],
): Fewest | undefined {
  const here = mayGo.filter(({ machineId }) => machineId === machine.id);
  for (let count = 1; count <= here.length; count += 1) {
    const [without] = freed([machine], here.slice(0, count));
    if (!without || machineRefusal(without, request) !== undefined) continue;
    const gpuUuids = choice(without, request)?.gpuUuids ?? [];
    const workers = here.slice(0, count).filter((worker) => worker.gpuUuids.some((uuid) => gpuUuids.includes(uuid)));
    const [left] = freed([machine], workers);
    return { workers, machine: occupied(left!, { machineId: machine.id, gpuUuids, instanceId: '', evicted: [] }) };
  }
  return undefined;
}

/** Returns machines without these workers. */
function freed(machines: readonly PlacementMachine[], workers: readonly PreemptibleWorker[]): PlacementMachine[] {
  const uuids = new Set(workers.flatMap(({ gpuUuids }) => gpuUuids));
  if (uuids.size === 0) return [...machines];
  return machines.map((machine) => ({
    ...machine,
    gpus: machine.gpus.map((gpu) => (uuids.has(gpu.uuid) ? { ...gpu, used: false } : gpu)),
  }));
}

/** Returns the number of workers on these machines that are preempted for an endpoint. */
export function preemptedFor(machines: readonly PlacementMachine[], endpointId: string): number {
  return machines.reduce(
    (sum, { preemptedFor = [] }) => sum + preemptedFor.filter((id) => id === endpointId).length,
    0,
  );
}

/** Appends the number of preempted workers to a refusal text. `count`: workers preempted for this endpoint. */
export function withPreemptions(refusal: string, count: number): string {
  if (count === 0) return refusal;
  return count === 1
    ? `${refusal}; a worker with only low-priority jobs is preempted after its current jobs`
    : `${refusal}; ${count} workers with only low-priority jobs are preempted after their current jobs`;
}

/** Minutes after its end for which a worker's owner is shown that it was preempted. */
export const PREEMPTION_SHOWN_MINUTES = 10;

/** A preempted worker. */
export interface Preemption {
  workerId: string;
  /**
   * The endpoint of the same account that needs its GPUs. Empty if it is another account's, which must not be shown.
   */
  toOwn: string;
}

/** Returns the reason for a preemption, for the owner of the worker. */
export function preemptionText({ toOwn }: Preemption): string {
  return toOwn === ''
    ? 'another account that has fewer GPUs for its weight needs them'
    : `endpoint ${toOwn} of this account needs its GPUs`;
}

/** Returns the preemptions of an endpoint as limits. The GPUs do not come back while others need them. */
export function preemptionLimits(all: readonly Preemption[]): ScaleLimit[] {
  return [...Map.groupBy(all, ({ toOwn }) => toOwn)].map(([toOwn, workers]) => {
    const who =
      toOwn === '' ? 'another account that has fewer GPUs for its weight' : `endpoint ${toOwn} of this account`;
    const count = workers.length === 1 ? 'a worker' : `${workers.length} workers`;
    const were = workers.length === 1 ? 'was' : 'were';
    const text =
      `${count} with only low-priority jobs ${were} preempted in the last ${PREEMPTION_SHOWN_MINUTES} minutes, ` +
      `because ${who} needed the GPUs`;
    return { limit: 'GAVE_WAY', cut: workers.length, text };
  });
}
