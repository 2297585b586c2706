/** GPU types in REST v2: all known types, with the number of them in the fleet. */

import type { DataCenter, GpuPool, GpuType } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import { availabilityWord } from '../../resources/availability-word.ts';
import { isCudaAtLeast, KNOWN_CUDA_VERSIONS } from '../../resources/cuda-versions.ts';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { named, textOrNull, word } from '../schema-parts.ts';
import { asksForAvailability, GpuQuery } from './catalog-query.ts';
import { availabilityOf, dataCenterAvailability, levels } from './levels.ts';

const TAG = { tag: 'catalog' };

const perCloud = <Schema extends TSchema>(schema: Schema) => ({ secure: schema, community: schema });

const GpuShape = named(
  'GpuType',
  Type.Object({
    id: Type.String(),
    name: Type.String({ description: 'Short name.' }),
    pool: textOrNull('Pool of the type. Null: it is in no pool; choose it by its own name.'),
    manufacturer: word(['NVIDIA', 'AMD', 'UNKNOWN']),
    memory: Type.Integer({ description: 'Memory of one GPU in GB. 0: unknown.' }),
    secure: Type.Boolean({ description: 'True if a machine has GPUs of this type.' }),
    community: Type.Boolean({ description: 'Always false.' }),
    price: Type.Object(
      { ...perCloud(Type.Number()), serverless: Type.Number() },
      { description: "US dollars an hour, by the operator's price table." },
    ),
    maxCount: Type.Object(perCloud(Type.Integer()), { description: 'Most GPUs of this type in one machine.' }),
    availability: Type.Optional(levels),
    dataCenters: Type.Optional(
      Type.Array(dataCenterAvailability, { description: 'Data centres in which some are free.' }),
    ),
    cudaVersions: Type.Optional(Type.Array(Type.Object({ version: Type.String(), available: Type.Boolean() }))),
  }),
);

/** The operations. */
export const gpuOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListGpuTypes',
    method: 'GET',
    path: '/v2/catalog/gpus',
    summary: 'List GPU types',
    query: GpuQuery,
    status: 200,
    errors: [400],
    answer: named(
      'ListGpuTypesResponse',
      Type.Object({ gpus: Type.Array(GpuShape, { description: 'Types that machines have come first.' }) }),
    ),
    handle: async (call, parts) => ({ gpus: await readTypes(call, parts) }),
  }),
  operation({
    ...TAG,
    id: 'GetGpuType',
    method: 'GET',
    path: '/v2/catalog/gpus/{gpuTypeId}',
    summary: 'Read a GPU type',
    query: GpuQuery,
    status: 200,
    answer: GpuShape,
    errors: [400],
    handle: async (call, parts) => {
      const id = call.path['gpuTypeId']!;
      const [found] = await readTypes(call, parts, id);
      if (!found) throw new CoreError('NOT_FOUND', `There is no GPU type ${JSON.stringify(id.slice(0, 64))}.`);
      return found;
    },
  }),
];

async function readTypes(call: Call<GpuQuery, unknown>, { core }: RestV2Parts, id?: string): Promise<object[]> {
  const withStock = asksForAvailability(call.query);
  const [{ gpuTypes }, { gpuPools }, centers] = await Promise.all([
    core.catalog.call((client) => client.listGpuTypes, {}, repeatable(call)),
    core.catalog.call((client) => client.listGpuPools, {}, repeatable(call)),
    withStock ? core.catalog.call((client) => client.listDataCenters, {}, repeatable(call)) : undefined,
  ]);
  const asked = gpuTypes.filter((type) => id === undefined || type.id === id);
  return asked.map((type) => ({
    ...present(type, gpuPools),
    ...(centers && stockOf(type, centers.dataCenters, call.query)),
  }));
}

function present(
  { id, displayName, manufacturer, memoryGb, total, countMax, usdPerHour }: GpuType,
  pools: readonly GpuPool[],
): object {
  return {
    id,
    name: displayName,
    pool: pools.find(({ gpuTypeIds }) => gpuTypeIds.includes(id))?.id ?? null,
    manufacturer: manufacturer === 'NVIDIA' || manufacturer === 'AMD' ? manufacturer : 'UNKNOWN',
    memory: memoryGb,
    secure: total > 0,
    community: false,
    price: { secure: usdPerHour, community: usdPerHour, serverless: usdPerHour },
    maxCount: { secure: countMax, community: 0 },
  };
}

function stockOf(type: GpuType, centers: readonly DataCenter[], query: GpuQuery): object {
  const { count = 1, cloud, countryCodes, cudaVersions: wanted, minCudaVersion } = query;
  const canRun = (version: string): boolean => type.cudaVersions.some((has) => isCudaAtLeast(has, version));
  const isMet =
    cloud !== 'COMMUNITY' &&
    (wanted === undefined || wanted.some(canRun)) &&
    (minCudaVersion === undefined || canRun(minCudaVersion));
  const places = centers
    .filter(({ countryCode }) => countryCodes === undefined || countryCodes.includes(countryCode))
    .flatMap((center) => {
      const gpus = center.gpus.find(({ gpuTypeId }) => gpuTypeId === type.id);
      const level =
        isMet && gpus ? availabilityOf(availabilityWord({ ...gpus, countMax: type.countMax }, count)) : 'NONE';
      return level === 'NONE'
        ? []
        : [{ id: center.id, name: center.id, availability: level, total: gpus!.total, free: gpus!.free }];
    });
  // Machines without a location count if no country is requested.
  const all =
    countryCodes === undefined
      ? type
      : places.reduce((sum, { total, free }) => ({ total: sum.total + total, free: sum.free + free }), {
          total: 0,
          free: 0,
        });
  return {
    availability: isMet
      ? availabilityOf(availabilityWord({ total: all.total, free: all.free, countMax: type.countMax }, count))
      : 'NONE',
    dataCenters: places.map(({ id, name, availability }) => ({ id, name, availability })),
    cudaVersions: KNOWN_CUDA_VERSIONS.map((version) => ({ version, available: canRun(version) })),
  };
}
