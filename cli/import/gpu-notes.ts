/** Whether this fleet has the GPUs that an endpoint chooses from. */
import type { TargetAccount } from './target-account.ts';

/** Returns the pools and types of a list that are not known here. */
export function unknownGpus(pools: readonly string[], { pools: known, gpuTypes }: TargetAccount): string[] {
  return pools.filter((name) => !known.some(({ id }) => id === name) && !gpuTypes.some(({ id }) => id === name));
}

/** Returns a note if no connected machine has enough GPUs of any chosen type. */
export function gpuNotes(
  { pools, excludedTypes, count }: { pools: readonly string[]; excludedTypes: readonly string[]; count: number },
  { pools: known, gpuTypes }: TargetAccount,
): string[] {
  const types = new Set(pools.flatMap((name) => known.find(({ id }) => id === name)?.gpuTypeIds ?? [name]));
  for (const type of excludedTypes) types.delete(type);
  const fits = gpuTypes.some(({ id, countMax }) => types.has(id) && countMax >= count);
  if (fits) return [];
  const many = count > 1 ? `${count} GPUs` : 'a GPU';
  return [`no machine here has ${many} of ${pools.join(', ')}: its workers wait until one joins`];
}
