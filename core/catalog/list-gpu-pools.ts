/** Lists all GPU pools. */
import { gpuMemoryGb } from '../domain/machines/gpu-facts.ts';
import { GPU_POOLS } from '../domain/machines/gpu-pools.ts';

/** A pool, with its types in the order in which they are tried. */
interface GpuPoolEntry {
  id: string;
  gpuTypeIds: string[];
}

/** Returns the pools, sorted by the memory of their smallest card. */
export function listGpuPools(): GpuPoolEntry[] {
  const smallest = (types: readonly string[]): number => Math.min(...types.map(gpuMemoryGb));
  return Object.entries(GPU_POOLS)
    .sort(([, a], [, b]) => smallest(a) - smallest(b))
    .map(([id, types]) => ({ id, gpuTypeIds: [...types] }));
}
