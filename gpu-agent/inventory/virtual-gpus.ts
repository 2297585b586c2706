/** GPUs that only the configuration knows, for development on a machine without any. Pure. */
import type { MachineGpu } from './machine-gpu.ts';

/** A kind of virtual GPU. */
export interface VirtualGpu {
  name: string;
  memoryMib: number;
  count: number;
}

/** Reads `NVIDIA L4:24576x2`: name, memory in MiB, and how many (1 when left out). Undefined when it makes no sense. */
export function parseVirtualGpu(text: string): VirtualGpu | undefined {
  const match = /^(.*\S)\s*:\s*(\d{1,8})(?:\s*x\s*(\d{1,3}))?$/.exec(text.trim());
  if (!match) return undefined;
  const [name, memoryMib, count] = [match[1]!, Number(match[2]), Number(match[3] ?? 1)];
  return memoryMib > 0 && count > 0 ? { name, memoryMib, count } : undefined;
}

/** Makes them; the machine's id keeps their names apart from those of other machines. */
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
