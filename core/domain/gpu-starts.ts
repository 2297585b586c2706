/** How long an endpoint's workers take to start on each type of GPU, and which types the next ones would get. Pure. */
import { sameCard } from './gpu-pools.ts';
import { rankOf } from './placement-filters.ts';
import type { GpuStarts } from './traffic.ts';

/** One type of GPU as it was seen, with its last starts in any order. */
export interface SeenGpu extends Omit<GpuStarts, 'gpu'> {
  name: string;
  /** Empty: a whole card. */
  migProfile: string;
}

/**
 * Types that an endpoint accepts in the order in which placement takes them: preferred ones first, of equal ones those with more places. Empty unless starts
 * were seen on two of them: one tells nothing that all starts do not.
 */
export function startsByGpu(seen: readonly SeenGpu[], gpuIds: readonly string[]): GpuStarts[] {
  const accepted = seen.flatMap(({ name, migProfile, places, workers, startsMs }) => {
    const rank = rankOf({ name, migProfile }, { gpuIds });
    const gpu = `${sameCard(name)}${migProfile === '' ? '' : ` MIG ${migProfile}`}`;
    const sorted = startsMs.map(Math.round).sort((a, b) => a - b);
    return rank === undefined ? [] : [{ rank, type: { gpu, places, workers, startsMs: sorted } }];
  });
  if (accepted.filter(({ type }) => type.startsMs.length > 0).length < 2) return [];
  const order = accepted.sort((a, b) => a.rank - b.rank || b.type.places - a.type.places || (a.type.gpu < b.type.gpu ? -1 : 1));
  return order.map(({ type }) => type);
}

/** The type that gets the n-th of further workers, from 0, where each has room for so many. Undefined: all are full. */
export function typeOfNext<Type>(types: readonly Type[], n: number, room: (type: Type) => number): Type | undefined {
  let left = n;
  return types.find((type) => (left -= room(type)) < 0);
}
