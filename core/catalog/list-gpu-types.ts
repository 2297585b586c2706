/** Lists all known GPU types and the types of connected machines, with the free GPUs of each. */
import {
  gpuDisplayName,
  gpuManufacturer,
  gpuMemoryGb,
  gpuTypeOf,
  KNOWN_GPU_TYPES,
} from '../domain/machines/gpu-facts.ts';
import type { CatalogContext } from './catalog-context.ts';
import { isFree } from './is-free.ts';

/** A GPU type. For the meaning of each field see the contract. */
interface GpuTypeEntry {
  id: string;
  displayName: string;
  manufacturer: string;
  memoryGb: number;
  total: number;
  free: number;
  countMax: number;
  usdPerHour: number;
  cudaVersions: string[];
}

const MIB_PER_GB = 1_024;

/** Returns the types, available ones first, then by name. */
export async function listGpuTypes({ machines, prices }: Omit<CatalogContext, 'catalog'>): Promise<GpuTypeEntry[]> {
  const [view, statuses, list] = [await machines.view(), await machines.list(), await prices.list()];
  const priceOf = new Map(list.map(({ item, usdPerHour }) => [item, usdPerHour]));
  const entries = new Map([...KNOWN_GPU_TYPES].map((id) => [id, entryOf(id, priceOf.get(id))]));
  for (const machine of view) {
    if (!machine.connected) continue;
    const counts = new Map<string, number>();
    for (const gpu of machine.gpus) {
      const id = gpuTypeOf(gpu);
      // A slice has the price of its card's type.
      const entry = entries.get(id) ?? entryOf(id, priceOf.get(gpuTypeOf({ ...gpu, migProfile: '' })));
      entry.total += 1;
      entry.free += isFree(machine, gpu) ? 1 : 0;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      if (machine.cudaVersion !== '' && !entry.cudaVersions.includes(machine.cudaVersion))
        entry.cudaVersions.push(machine.cudaVersion);
      entry.countMax = Math.max(entry.countMax, counts.get(id)!);
      entries.set(id, entry);
    }
  }
  // The operator's machines may have cards that are in no list.
  for (const gpu of statuses.flatMap((status) => status.gpus)) {
    const entry = entries.get(gpuTypeOf(gpu));
    if (entry?.memoryGb === 0) entry.memoryGb = Math.round(gpu.memoryMib / MIB_PER_GB);
  }
  return [...entries.values()].sort((a, b) => Number(b.total > 0) - Number(a.total > 0) || (a.id < b.id ? -1 : 1));
}

function entryOf(id: string, usdPerHour = 0): GpuTypeEntry {
  const facts = { displayName: gpuDisplayName(id), manufacturer: gpuManufacturer(id), memoryGb: gpuMemoryGb(id) };
  return { id, ...facts, total: 0, free: 0, countMax: 0, usdPerHour, cudaVersions: [] };
}
