/**
 * Workers that need several GPUs of one machine: what comes free there is kept for them, one by one, from workers that need fewer. Otherwise they would
 * wait for ever behind workers of one GPU, which take each GPU as it comes free. Pure, and without a memory: a machine of which GPUs are kept loses none, so
 * that it stays the one that has most of them free until all are there.
 */
import { sameCard } from './gpu-pools.ts';
import type { GpuShare } from './gpu-share.ts';
import { without } from './machine-crashes.ts';
import { machineRefusal, rankOf } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-filters.ts';

/**
 * GPUs are kept for the first ten minutes of each half hour that an endpoint goes without a new worker. What else runs on a machine may never end, like a
 * pod or a worker of workersMin: what is kept for longer might be kept for ever, and used by nobody. In milliseconds.
 */
const KEPT_MS = 600_000;
const KEPT_EACH_MS = 1_800_000;

/** An endpoint with workers of several GPUs that found no place. */
export interface LargeWaiter {
  accountId: string;
  request: PlacementRequest;
  /** Milliseconds since it was given a worker, or since it was made where it never was. */
  sinceMs: number;
  /** Machines where none of its workers starts for now, because one crashed there (core/domain/machine-crashes.ts). Absent: none. */
  paused?: readonly string[];
}

/** Free GPUs of one machine that are for one worker; less than it needs until the last comes free. */
export interface KeptGpus {
  machineId: string;
  gpuUuids: readonly string[];
}

/** Who asks for fewer GPUs, and what all accounts concerned have. */
export interface SmallerAsker extends GpuShare {
  sinceMs: number;
}

/** Machines after that. */
export interface KeptBack {
  machines: PlacementMachine[];
  /** GPUs that are not free for who asks. */
  gpuUuids: string[];
  /** Places that it lost by it. */
  places: number;
  /** GPUs that the workers need for which they are kept; 0 where none are. */
  gpuCount: number;
}

/** The machine that has most of the GPUs free which one worker needs, of those that could take it if nothing ran there. Undefined: none has any. */
export function keptFor(machines: readonly PlacementMachine[], request: PlacementRequest): KeptGpus | undefined {
  if (request.gpuCount < 2) return undefined;
  let best: (KeptGpus & { rank: number }) | undefined;
  for (const machine of machines) {
    if (machineRefusal({ ...machine, gpus: machine.gpus.map((gpu) => ({ ...gpu, used: false })) }, request) !== undefined) continue;
    for (const { rank, gpuUuids } of freeOfTypes(machine, request)) {
      const length = best?.gpuUuids.length ?? 0;
      if (gpuUuids.length > length || (best && gpuUuids.length === length && rank < best.rank)) best = { machineId: machine.id, gpuUuids, rank };
    }
  }
  return best && { machineId: best.machineId, gpuUuids: best.gpuUuids };
}

/** Hides from who asks for fewer GPUs those that are kept for others that go before it. */
export function keepBack(
  all: readonly PlacementMachine[], request: PlacementRequest, own: SmallerAsker, waiters: readonly LargeWaiter[], shares: readonly GpuShare[],
): KeptBack {
  const back: KeptBack = { machines: [...all], gpuUuids: [], places: 0, gpuCount: 0 };
  if (request.gpuCount === 0) return back;
  const before = waiters.filter((waiter) => (
    waiter.request.gpuCount > request.gpuCount && waiter.sinceMs % KEPT_EACH_MS < KEPT_MS && goesBefore(waiter, own, shares)));
  for (const waiter of before.toSorted((a, b) => b.sinceMs - a.sinceMs)) {
    const kept = keptFor(without(back.machines, waiter.paused ?? []), waiter.request);
    const index = back.machines.findIndex(({ id }) => id === kept?.machineId);
    const machine = back.machines[index];
    if (!kept || !machine) continue;
    const gpus = machine.gpus.map((gpu) => (kept.gpuUuids.includes(gpu.uuid) ? { ...gpu, used: true } : gpu));
    const left = { ...machine, gpus };
    back.machines[index] = left;
    back.gpuUuids.push(...kept.gpuUuids);
    if (machineRefusal(machine, request) !== undefined || machineRefusal(left, request) === undefined) continue;
    back.places += 1;
    back.gpuCount = Math.max(back.gpuCount, waiter.request.gpuCount);
  }
  return back;
}

/** Why free GPUs are not given to an endpoint, for its owner. */
export function keptBackText(gpuCount: number): string {
  return `free GPUs are kept for a worker that needs ${gpuCount} of one machine and has waited longer`;
}

/** Turns go round: whoever was given a worker longest ago is next, unless its account has more for its weight than the one that asks. */
function goesBefore({ accountId, sinceMs }: LargeWaiter, own: SmallerAsker, shares: readonly GpuShare[]): boolean {
  if (sinceMs <= own.sinceMs) return false;
  const theirs = shares.find((share) => share.accountId === accountId);
  return accountId === own.accountId || (theirs !== undefined && theirs.gpus / theirs.weight <= own.gpus / own.weight);
}

/** Of each type of which the machine has enough GPUs that are well: those that are free, at most as many as one worker needs, frozen workers' last. */
function freeOfTypes(machine: PlacementMachine, request: PlacementRequest): { rank: number; gpuUuids: string[] }[] {
  const asked = machine.gpus.filter((gpu) => gpu.unhealthy === '' && rankOf(gpu, request) !== undefined);
  const groups = [...Map.groupBy(asked, ({ name, migProfile }) => `${sameCard(name)} ${migProfile}`).values()];
  return groups.filter((gpus) => gpus.length >= request.gpuCount).map((gpus) => {
    const free = gpus.filter(({ used }) => !used).sort((a, b) => Number(a.standby) - Number(b.standby));
    return { rank: rankOf(gpus[0]!, request)!, gpuUuids: free.slice(0, request.gpuCount).map(({ uuid }) => uuid) };
  });
}
