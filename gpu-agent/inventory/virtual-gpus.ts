/** GPUs that exist only in the configuration, for development on a machine without any. Pure. */
import type { MachineGpu } from './machine-gpu.ts';

/** A kind of virtual GPU. */
export interface VirtualGpu {
  name: string;
  memoryMib: number;
  count: number;
}

/** Reads `NVIDIA L4:24576x2`: name, memory in MiB, and count (default: 1). `undefined` if it is malformed. */
export function parseVirtualGpu(text: string): VirtualGpu | undefined {
  const match = /^(.*\S)\s*:\s*(\d{1,8})(?:\s*x\s*(\d{1,3}))?$/.exec(text.trim());
  if (!match) return undefined;
  const [name, memoryMib, count] = [match[1]!, Number(match[2]), Number(match[3] ?? 1)];
  return memoryMib > 0 && count > 0 ? { name, memoryMib, count } : undefined;
}

/** Creates the GPUs. Their UUIDs contain the machine's id, so they are unique in the fleet. */
export function makeVirtualGpus(kinds: readonly VirtualGpu[], machineId: string): MachineGpu[] {
  return kinds
    .flatMap((kind) => Array.from({ length: kind.count }, () => kind))
    .map(({ name, memoryMib }, index) => ({
      uuid: `VIRTUAL-${machineId}-${index}`,
      name,
      memoryMib,
      migProfile: '',
      virtual: true,
    }));
}
