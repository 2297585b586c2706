/** Chooses the standby workers to evict for a new worker or pod. Pure. */

import type { CpuSize } from '../../machines/cpu-size.ts';
import { cpuSize } from '../../machines/cpu-size.ts';

/** A standby worker of a machine. Its resources are free for others, who evict it. */
export interface PlacementStandby {
  workerId: string;
  gpuUuids: readonly string[];
  instanceId: string;
  /** Milliseconds on standby. */
  frozenMs: number;
  /** GPU memory to offload, in bytes; 0 is unknown. Absent if its endpoint or its machine does not allow it. */
  offloadBytes?: number;
  /** Expected duration of its offload in milliseconds. Absent with `offloadBytes`. */
  offloadMs?: number;
  /** It runs, and is offloaded only if nothing else is free. Absent if it is on standby. */
  running?: true;
}

/** Capacity of a machine. Standby workers are not counted as used (core/domain/scaling/placement.ts). */
interface MachineCapacity {
  cpuSlots: number;
  cpuSlotsUsed: number;
  vcpus: number;
  vcpusUsed: number;
  memoryGb: number;
  memoryGbUsed: number;
  standbys: readonly PlacementStandby[];
}

/**
 * Returns standby workers to evict: those on the assigned GPUs, and then the longest on standby as far as slots, CPUs
 * or memory are short.
 */
export function standbysToEvict(
  machine: MachineCapacity,
  gpuUuids: readonly string[],
  size: CpuSize | undefined,
): string[] {
  const oldest = machine.standbys.toSorted((a, b) => b.frozenMs - a.frozenMs);
  const going = new Set(oldest.filter((standby) => standby.gpuUuids.some((uuid) => gpuUuids.includes(uuid))));
  const stay = (): PlacementStandby[] => oldest.filter((standby) => !going.has(standby));
  const free = (short: () => boolean, mayGo: (standby: PlacementStandby) => boolean): void => {
    for (const standby of stay()) if (mayGo(standby) && short()) going.add(standby);
  };
  if (gpuUuids.length === 0) {
    const slots = (): number =>
      machine.cpuSlotsUsed + 1 + stay().filter((standby) => standby.gpuUuids.length === 0).length;
    free(
      () => slots() > machine.cpuSlots,
      (standby) => standby.gpuUuids.length === 0,
    );
  }
  if (size)
    free(
      () => !fits(machine, size, stay()),
      (standby) => standby.instanceId !== '',
    );
  return oldest.filter((standby) => going.has(standby)).map((standby) => standby.workerId);
}

/**
 * Returns whether a size fits beside the used capacity and these standby workers. A total of 0 is unknown and never
 * short.
 */
function fits(machine: MachineCapacity, size: CpuSize, standbys: readonly PlacementStandby[]): boolean {
  const sizes = [size, ...standbys.flatMap(({ instanceId }) => cpuSize(instanceId) ?? [])];
  const vcpus = machine.vcpusUsed + sizes.reduce((sum, { vcpus: each }) => sum + each, 0);
  const memoryGb = machine.memoryGbUsed + sizes.reduce((sum, { memoryGb: each }) => sum + each, 0);
  return (machine.vcpus === 0 || vcpus <= machine.vcpus) && (machine.memoryGb === 0 || memoryGb <= machine.memoryGb);
}
