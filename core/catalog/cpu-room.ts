/** Room for what has no GPU, over some machines. */
import type { PlacementMachine } from '../domain/scaling/placement-machine.ts';

/** The contract says what each field means. */
export interface CpuRoomEntry {
  slots: number;
  freeSlots: number;
  freeVcpus: number;
  freeMemoryGb: number;
}

/** Stands for a number that the machine does not tell. */
const UNKNOWN = 2_147_483_647;

/** Returns the room of the machines that are connected; undefined: none is. */
export function cpuRoom(machines: readonly PlacementMachine[]): CpuRoomEntry | undefined {
  const connected = machines.filter(({ connected: isHere }) => isHere);
  if (connected.length === 0) return undefined;
  const room: CpuRoomEntry = { slots: 0, freeSlots: 0, freeVcpus: 0, freeMemoryGb: 0 };
  for (const machine of connected) {
    const { cpuSlots, cpuSlotsUsed, vcpus, vcpusUsed, memoryGb, memoryGbUsed } = machine;
    room.slots += cpuSlots;
    if (cpuSlotsUsed >= cpuSlots) continue;
    room.freeSlots += cpuSlots - cpuSlotsUsed;
    const freeVcpus = vcpus === 0 ? UNKNOWN : Math.max(0, vcpus - vcpusUsed);
    if (freeVcpus <= room.freeVcpus) continue;
    room.freeVcpus = freeVcpus;
    room.freeMemoryGb = memoryGb === 0 ? UNKNOWN : Math.max(0, memoryGb - memoryGbUsed);
  }
  return room;
}
