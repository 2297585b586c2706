/**
 * GPUs of endpoints. REST v2 selects pools and excludes types; the contract has one list of pools, types and excluded
 * types. Types that other surfaces selected are shown as the smallest pools that contain them.
 */
import type { GpuPool } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { lowestVersion, versionsFrom } from '../../resources/cuda-versions.ts';
import { against, misfit } from '../rejections.ts';
import type { GpuBody } from './endpoint-shapes.ts';

/** GPU settings by the names of the contract. `undefined` if the body does not set them. */
interface GpuFields {
  gpuIds: string[] | undefined;
  gpuCount: number | undefined;
  allowedCudaVersions: string[] | undefined;
}

/**
 * Returns the fields that a body names. 400: a type is left out that is in none of the pools, or versions are named in
 * both ways. 422: types are left out of nothing.
 */
export function gpuFields(
  { pools, excludedTypes, count, allowedCudaVersions, minCudaVersion }: GpuBody,
  known: readonly GpuPool[],
): GpuFields {
  if (!pools && excludedTypes?.length)
    throw misfit(['$.gpu.excludedTypes: leaves types out of pools, which must be given with it']);
  if (allowedCudaVersions?.length && minCudaVersion)
    throw against('gpu.allowedCudaVersions and gpu.minCudaVersion exclude each other: give one.');
  const excluded = (excludedTypes ?? []).map((type) => type.trim());
  const held = new Set(pools?.flatMap((pool) => [pool, ...(known.find(({ id }) => id === pool)?.gpuTypeIds ?? [])]));
  const outside = excluded.find((type) => !held.has(type));
  if (outside !== undefined)
    throw against(`gpu.excludedTypes: ${JSON.stringify(outside)} is a type of none of gpu.pools.`);
  const listed = allowedCudaVersions ?? (minCudaVersion === '' ? [] : undefined);
  const versions = minCudaVersion ? versionsFrom(minCudaVersion) : listed;
  return {
    gpuIds: pools && [...pools, ...excluded.map((type) => `-${type}`)],
    gpuCount: count,
    allowedCudaVersions: versions,
  };
}

/** Returns the GPUs for a response. */
export function presentGpus(
  {
    gpuIds,
    gpuCount,
    allowedCudaVersions,
  }: { gpuIds: readonly string[]; gpuCount: number; allowedCudaVersions: readonly string[] },
  known: readonly GpuPool[],
) {
  return { ...poolsOf(gpuIds, known), count: gpuCount, ...versionsOf(allowedCudaVersions) };
}

function poolsOf(gpuIds: readonly string[], known: readonly GpuPool[]): { pools: string[]; excludedTypes: string[] } {
  const isPool = (id: string): boolean => known.some((pool) => pool.id === id);
  const out = gpuIds.filter((id) => id.startsWith('-')).map((id) => id.slice(1));
  const named = gpuIds.filter((id) => !id.startsWith('-'));
  // None named: any will do.
  if (named.length === 0) return { pools: known.map(({ id }) => id), excludedTypes: out };
  const types = new Set(named.filter((id) => !isPool(id)));
  const whole = new Set(named.filter(isPool));
  const pools = [
    ...new Set(
      named.map((id) => (isPool(id) ? id : (known.find(({ gpuTypeIds }) => gpuTypeIds.includes(id))?.id ?? id))),
    ),
  ];
  const rest = known
    .filter(({ id }) => pools.includes(id) && !whole.has(id))
    .flatMap(({ gpuTypeIds }) => gpuTypeIds.filter((type) => !types.has(type)));
  return { pools, excludedTypes: [...new Set([...rest, ...out])] };
}

/** Returns a version and all newer ones as the lowest. */
function versionsOf(allowed: readonly string[]): { allowedCudaVersions: string[]; minCudaVersion: string | null } {
  const lowest = lowestVersion(allowed);
  const isFloor = lowest !== null && allowed.length > 1 && String(versionsFrom(lowest)) === String(allowed);
  return isFloor
    ? { allowedCudaVersions: [], minCudaVersion: lowest }
    : { allowedCudaVersions: [...allowed], minCudaVersion: null };
}
