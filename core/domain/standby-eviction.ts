/** Which frozen workers must go for a new worker or pod. Pure. */
import { cpuSize } from './cpu-size.ts';
import type { CpuSize } from './cpu-size.ts';

/** A frozen worker of a machine. What it has is free for others, for whom it goes. */
export interface PlacementStandby {
  workerId: string;
  gpuUuids: readonly string[];
  instanceId: string;
  /** How long it has been frozen, in milliseconds. */
  frozenMs: number;
}

/** A machine's room, its frozen workers not counted (core/domain/placement.ts). */
interface Room {
  cpuSlots: number;
  cpuSlotsUsed: number;
  vcpus: number;
  vcpusUsed: number;
  memoryGb: number;
  memoryGbUsed: number;
  standbys: readonly PlacementStandby[];
}

/** Frozen workers of a machine that have what the new one is given; of those that only take up room the longest frozen first, and no more than needed. */
export function standbysInTheWay(machine: Room, gpuUuids: readonly string[], size: CpuSize | undefined): string[] {
  const oldest = machine.standbys.toSorted((a, b) => b.frozenMs - a.frozenMs);
  const going = new Set(oldest.filter((standby) => standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid))));
  const stay = (): PlacementStandby[] => oldest.filter((standby) => !going.has(standby));
  const free = (short: () => boolean, mayGo: (standby: PlacementStandby) => boolean): void => {
    for (const standby of stay()) if (mayGo(standby) && short()) going.add(standby);
  };
  if (gpuUuids.length === 0) {
    const slots = (): number => machine.cpuSlotsUsed + 1 + stay().filter((standby) => standby.gpuUuids.length === 0).length;
    free(() => slots() > machine.cpuSlots, (standby) => standby.gpuUuids.length === 0);
  }
  if (size) free(() => !hasRoom(machine, size, stay()), (standby) => standby.instanceId !== '');
  return oldest.filter((standby) => going.has(standby)).map((standby) => standby.workerId);
}

/** A size fits beside what is used and these frozen workers. A total of 0 is not known and never short. */
function hasRoom(machine: Room, size: CpuSize, standbys: readonly PlacementStandby[]): boolean {
  const sizes = [size, ...standbys.flatMap(({ instanceId }) => cpuSize(instanceId) ?? [])];
  const vcpus = machine.vcpusUsed + sizes.reduce((sum, { vcpus: each }) => sum + each, 0);
  const memoryGb = machine.memoryGbUsed + sizes.reduce((sum, { memoryGb: each }) => sum + each, 0);
  return (machine.vcpus === 0 || vcpus <= machine.vcpus) && (machine.memoryGb === 0 || memoryGb <= machine.memoryGb);
}
