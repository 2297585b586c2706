/** Capacity of machines for workers and pods without a GPU. */
import type { PlacementMachine } from '../domain/scaling/placement-machine.ts';

/** Capacity without a GPU. For the meaning of each field see the contract. */
export interface CpuCapacity {
  slots: number;
  freeSlots: number;
  freeVcpus: number;
  freeMemoryGb: number;
}

/** Replaces a number that the machine does not report. */
const UNKNOWN = 2_147_483_647;

/** Returns the capacity of the connected machines. `undefined` if none is connected. */
export function cpuCapacity(machines: readonly PlacementMachine[]): CpuCapacity | undefined {
  const connected = machines.filter(({ connected: isHere }) => isHere);
  if (connected.length === 0) return undefined;
  const capacity: CpuCapacity = { slots: 0, freeSlots: 0, freeVcpus: 0, freeMemoryGb: 0 };
  for (const machine of connected) {
    const { cpuSlots, cpuSlotsUsed, vcpus, vcpusUsed, memoryGb, memoryGbUsed, cordoned } = machine;
    capacity.slots += cpuSlots;
    if (cordoned || cpuSlotsUsed >= cpuSlots) continue;
    capacity.freeSlots += cpuSlots - cpuSlotsUsed;
    const freeVcpus = vcpus === 0 ? UNKNOWN : Math.max(0, vcpus - vcpusUsed);
    if (freeVcpus <= capacity.freeVcpus) continue;
    capacity.freeVcpus = freeVcpus;
    capacity.freeMemoryGb = memoryGb === 0 ? UNKNOWN : Math.max(0, memoryGb - memoryGbUsed);
  }
  return capacity;
}
