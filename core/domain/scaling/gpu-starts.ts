/** Start times of an endpoint's workers by type of GPU, and the types that its next workers get. Pure. */

import { sameCard } from '../machines/gpu-pools.ts';
import { rankOf } from './gpu-choice.ts';
import type { GpuStarts } from './traffic.ts';

/** One type of GPU with its recorded starts, in any order. */
export interface SeenGpu extends Omit<GpuStarts, 'gpu'> {
  name: string;
  /** Empty for a whole card. */
  migProfile: string;
}

/**
 * Returns the types that an endpoint accepts, in the order of placement: preferred types first, then types with more
 * free slots. Returns an empty list unless starts were recorded on at least two types, as one type says no more than
 * all starts together.
 */
export function startsByGpu(seen: readonly SeenGpu[], gpuIds: readonly string[]): GpuStarts[] {
  const accepted = seen.flatMap(({ name, migProfile, places, workers, startsMs }) => {
    const rank = rankOf({ name, migProfile }, { gpuIds });
    const gpu = `${sameCard(name)}${migProfile === '' ? '' : ` MIG ${migProfile}`}`;
    const sorted = startsMs.map(Math.round).sort((a, b) => a - b);
    return rank === undefined ? [] : [{ rank, type: { gpu, places, workers, startsMs: sorted } }];
  });
  if (accepted.filter(({ type }) => type.startsMs.length > 0).length < 2) return [];
  const order = accepted.sort(
    (a, b) => a.rank - b.rank || b.type.places - a.type.places || (a.type.gpu < b.type.gpu ? -1 : 1),
  );
  return order.map(({ type }) => type);
}

/**
 * Returns the type that the n-th further worker gets, from 0. `capacity`: number of workers that fit on a type. Returns
 * `undefined` if all types are full.
 */
export function typeOfNext<Type>(
  types: readonly Type[],
  n: number,
  capacity: (type: Type) => number,
): Type | undefined {
  let left = n;
  return types.find((type) => (left -= capacity(type)) < 0);
}
