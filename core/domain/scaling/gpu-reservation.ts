/**
 * Reservations for workers that need several GPUs of one machine. GPUs that become free there are reserved for them,
 * one by one, against workers that need fewer. Otherwise workers with one GPU would take each free GPU first, for ever.
 * Pure and stateless: a machine with reserved GPUs loses none of them, so it stays the machine with the most free ones
 * until all are free.
 */

import { rankOf, typeOf } from './gpu-choice.ts';
import { without } from './machine-crashes.ts';
import { machineRefusal } from './placement-filters.ts';
import type { PlacementMachine, PlacementRequest } from './placement-machine.ts';

/**
 * GPUs are reserved for the first 10 minutes of each 30 minutes that an endpoint goes without a new worker, in
 * milliseconds. Other work on the machine may never end, for example a pod or a worker of workersMin. A longer
 * reservation could last for ever and leave GPUs unused.
 */
const RESERVED_MS = 600_000;
const RESERVED_EACH_MS = 1_800_000;

/** An account's GPUs and weight. Rules for scarce GPUs compare accounts by their share, gpus / weight. */
export interface GpuShare {
  accountId: string;
  gpus: number;
  /** At least 1. */
  weight: number;
}

/** An endpoint with unplaced workers that need several GPUs. */
export interface LargeWaiter {
  accountId: string;
  request: PlacementRequest;
  /** Milliseconds since it last got a worker, or since its creation if it never got one. */
  sinceMs: number;
  /**
   * Machines where its workers do not start now: one crashed there (core/domain/scaling/machine-crashes.ts), or the
   * image, which no registry has, is only on others. Absent if there are none.
   */
  paused?: readonly string[];
}

/** Free GPUs of one machine that are reserved for one worker; fewer than it needs until the last one is free. */
interface ReservedGpus {
  machineId: string;
  gpuUuids: readonly string[];
}

/** The account that asks for fewer GPUs, with its share. */
interface SmallerRequester extends GpuShare {
  sinceMs: number;
}

/** Machines after the reservation. */
interface LargeReservation {
  machines: PlacementMachine[];
  /** GPUs that are hidden from the smaller request. */
  gpuUuids: string[];
  /** Slots that the smaller request lost. */
  slots: number;
  /** GPUs per worker of the endpoint with the reservation, 0 if nothing is reserved. */
  gpuCount: number;
}

/**
 * Returns the machine with the most free GPUs for one such worker, among machines that could take it if they were
 * empty. Returns `undefined` if no GPU is free.
 */
export function reservableFor(
  machines: readonly PlacementMachine[],
  request: PlacementRequest,
): ReservedGpus | undefined {
  if (request.gpuCount < 2) return undefined;
  let best: (ReservedGpus & { rank: number }) | undefined;
  for (const machine of machines) {
    if (
      machineRefusal({ ...machine, gpus: machine.gpus.map((gpu) => ({ ...gpu, used: false })) }, request) !== undefined
    )
      continue;
    for (const { rank, gpuUuids } of freeOfTypes(machine, request)) {
      const length = best?.gpuUuids.length ?? 0;
      if (gpuUuids.length > length || (best && gpuUuids.length === length && rank < best.rank))
        best = { machineId: machine.id, gpuUuids, rank };
    }
  }
  return best && { machineId: best.machineId, gpuUuids: best.gpuUuids };
}

/** Hides reserved GPUs from a request for fewer GPUs. */
export function reserveForLarge(
  all: readonly PlacementMachine[],
  request: PlacementRequest,
  own: SmallerRequester,
  waiters: readonly LargeWaiter[],
  shares: readonly GpuShare[],
): LargeReservation {
  const result: LargeReservation = { machines: [...all], gpuUuids: [], slots: 0, gpuCount: 0 };
  if (request.gpuCount === 0) return result;
  const before = waiters.filter(
    (waiter) =>
      waiter.request.gpuCount > request.gpuCount &&
      waiter.sinceMs % RESERVED_EACH_MS < RESERVED_MS &&
      goesBefore(waiter, own, shares),
  );
  for (const waiter of before.toSorted((a, b) => b.sinceMs - a.sinceMs)) {
    const reserved = reservableFor(without(result.machines, waiter.paused ?? []), waiter.request);
    const index = result.machines.findIndex(({ id }) => id === reserved?.machineId);
    const machine = result.machines[index];
    if (!reserved || !machine) continue;
    const gpus = machine.gpus.map((gpu) => (reserved.gpuUuids.includes(gpu.uuid) ? { ...gpu, used: true } : gpu));
    const left = { ...machine, gpus };
    result.machines[index] = left;
    result.gpuUuids.push(...reserved.gpuUuids);
    if (machineRefusal(machine, request) !== undefined || machineRefusal(left, request) === undefined) continue;
    result.slots += 1;
    result.gpuCount = Math.max(result.gpuCount, waiter.request.gpuCount);
  }
  return result;
}

/** Returns the reason, for the owner, why free GPUs are reserved. */
export function reservationText(gpuCount: number): string {
  return `free GPUs are reserved for a worker that needs ${gpuCount} of one machine and has waited longer`;
}

/**
 * Returns whether the waiter comes before the requester. Round robin: the endpoint whose last worker is older is next,
 * unless its account has more GPUs for its weight.
 */
function goesBefore({ accountId, sinceMs }: LargeWaiter, own: SmallerRequester, shares: readonly GpuShare[]): boolean {
  if (sinceMs <= own.sinceMs) return false;
  const theirs = shares.find((share) => share.accountId === accountId);
  return accountId === own.accountId || (theirs !== undefined && theirs.gpus / theirs.weight <= own.gpus / own.weight);
}

/**
 * Groups healthy GPUs by type and returns the free ones of each type with enough GPUs in all, at most as many as one
 * worker needs. GPUs of standby workers come last.
 */
function freeOfTypes(machine: PlacementMachine, request: PlacementRequest): { rank: number; gpuUuids: string[] }[] {
  const asked = machine.gpus.filter((gpu) => gpu.unhealthy === '' && rankOf(gpu, request) !== undefined);
  const groups = [...Map.groupBy(asked, typeOf).values()];
  return groups
    .filter((gpus) => gpus.length >= request.gpuCount)
    .map((gpus) => {
      const free = gpus.filter(({ used }) => !used).sort((a, b) => Number(a.standby) - Number(b.standby));
      return { rank: rankOf(gpus[0]!, request)!, gpuUuids: free.slice(0, request.gpuCount).map(({ uuid }) => uuid) };
    });
}
