/** All GPU pools. */
import { gpuMemoryGb } from '../domain/machines/gpu-facts.ts';
import { GPU_POOLS } from '../domain/machines/gpu-pools.ts';

/** A pool and its types in the order in which they are tried. */
export interface GpuPoolEntry {
  id: string;
  gpuTypeIds: string[];
}

/** Smallest memory first: that of the smallest card counts. */
export function listGpuPools(): GpuPoolEntry[] {
  const smallest = (types: readonly string[]): number => Math.min(...types.map(gpuMemoryGb));
  return Object.entries(GPU_POOLS)
    .sort(([, a], [, b]) => smallest(a) - smallest(b))
    .map(([id, types]) => ({ id, gpuTypeIds: [...types] }));
}
