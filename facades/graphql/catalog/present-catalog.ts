/** GPU types and places of the contract to the public schema's fields. */
import type { DataCenter, GpuType } from '@slipway/proto/gen/slipway/v1/catalog_service';
import type { Stock } from '../../resources/availability-word.ts';
import { availabilityWord } from '../../resources/availability-word.ts';
import { isCudaAtLeast, KNOWN_CUDA_VERSIONS } from '../../resources/cuda-versions.ts';
import type { CoreMessage } from '../core-message.ts';
import { numberOf } from '../core-message.ts';

/** Returns a GpuType of the public schema, without `lowestPrice`. */
export function presentGpuType(type: CoreMessage<GpuType>) {
  const stock = { total: numberOf(type.total), free: numberOf(type.free), countMax: numberOf(type.countMax) };
  return {
    id: type.id ?? '',
    displayName: type.displayName ?? '',
    manufacturer: type.manufacturer ?? '',
    memoryInGb: numberOf(type.memoryGb),
    maxGpuCount: stock.countMax,
    secureCloud: stock.total > 0,
    communityCloud: false,
    securePrice: numberOf(type.usdPerHour),
    cudaVersions: type.cudaVersions ?? [],
    stock,
  };
}

/** Returns whether a machine that has the type can run a CUDA version. */
export function canRun({ cudaVersions }: { cudaVersions: readonly string[] }, version: string): boolean {
  return cudaVersions.some((has) => isCudaAtLeast(has, version));
}

/** Returns LowestPrice of the public schema. One's own machines have one price. */
export function presentLowestPrice(type: ReturnType<typeof presentGpuType>, stock: Stock, wanted: number) {
  const stockStatus = availabilityWord(stock, wanted);
  const price = stockStatus === 'None' ? null : type.securePrice;
  return {
    gpuName: type.displayName,
    gpuTypeId: type.id,
    minimumBidPrice: price,
    uninterruptablePrice: price,
    stockStatus,
    availableGpuCounts: Array.from({ length: Math.min(stock.free, stock.countMax) }, (_, n) => n + 1),
    totalCount: stock.total,
    rentedCount: stock.total - stock.free,
    gpuTypeCudaVersions: KNOWN_CUDA_VERSIONS.map((cudaVersion) => ({
      cudaVersion,
      availability: canRun(type, cudaVersion) ? 'AVAILABLE' : 'UNAVAILABLE',
    })),
  };
}

/** Returns how many of a type a data center has. Nothing if there is no such data center. */
export function stockIn(
  centers: readonly CoreMessage<DataCenter>[],
  centerId: string,
  typeId: string,
  countMax: number,
): Stock {
  const found = centers.find(({ id }) => id === centerId)?.gpus?.find(({ gpuTypeId }) => gpuTypeId === typeId);
  return { total: numberOf(found?.total), free: numberOf(found?.free), countMax };
}

/** Returns a DataCenter of the public schema. `names`: short names of types. */
export function presentDataCenter(center: CoreMessage<DataCenter>, names: ReadonlyMap<string, string>) {
  return {
    id: center.id ?? '',
    name: center.id ?? '',
    location: center.countryCode ?? '',
    gpuAvailability: (center.gpus ?? []).map(({ gpuTypeId = '', total, free }) => {
      const stock = { total: numberOf(total), free: numberOf(free), countMax: numberOf(total) };
      const word = availabilityWord(stock);
      return {
        gpuTypeId,
        displayName: names.get(gpuTypeId) ?? gpuTypeId,
        stockStatus: word === 'None' ? null : word,
        available: word !== 'None',
      };
    }),
  };
}
