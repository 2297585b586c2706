/** Data centres in REST v2: the places that machines carry, as the operator named them. */

import type { DataCenter, GpuType } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { availabilityWord } from '../../resources/availability-word.ts';
import { gbPerVcpu, POD_FLAVORS } from '../../resources/cpu-sizes.ts';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { named, word } from '../schema-parts.ts';
import { DataCenterQuery, DataCentersQuery } from './catalog-query.ts';
import { cpuLevel } from './cpus.ts';
import { availabilityOf, levels } from './levels.ts';

const TAG = { tag: 'catalog' };
/** Number of processors for which availability without a GPU is reported. */
const VCPUS = 2;

const resource = named(
  'CatalogResourceAvailability',
  Type.Object({ id: Type.String(), name: Type.String(), availability: levels }),
);
const DataCenterShape = named(
  'DataCenter',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    region: word(['UNKNOWN'], 'Always UNKNOWN: operators choose the names of data centres.'),
    globalNetwork: Type.Boolean({ description: 'Always false.' }),
    networkVolumeTypes: Type.Array(word(['STANDARD']), {
      description: 'Types of network volumes that can be created there.',
    }),
    compliance: Type.Array(Type.String(), { description: 'Always empty: the service does not know it.' }),
    gpuAvailability: Type.Optional(Type.Array(resource)),
    cpuAvailability: Type.Optional(Type.Array(resource)),
  }),
);

/** The operations. */
export const dataCenterOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListDataCenters',
    method: 'GET',
    path: '/v2/catalog/datacenters',
    summary: 'List data centres',
    query: DataCentersQuery,
    status: 200,
    answer: named(
      'ListDataCentersResponse',
      Type.Object({ dataCenters: Type.Array(DataCenterShape, { description: 'Sorted by id.' }) }),
    ),
    handle: async (call, parts) => {
      const { regions, networkVolumeTypes, compliance, globalNetwork } = call.query;
      const isNone =
        globalNetwork === true ||
        (compliance?.length ?? 0) > 0 ||
        (regions && !regions.includes('UNKNOWN')) ||
        (networkVolumeTypes && !networkVolumeTypes.includes('STANDARD'));
      return { dataCenters: isNone ? [] : await readCenters(call, parts) };
    },
  }),
  operation({
    ...TAG,
    id: 'GetDataCenter',
    method: 'GET',
    path: '/v2/catalog/datacenters/{dataCenterId}',
    summary: 'Read a data centre',
    query: DataCenterQuery,
    status: 200,
    answer: DataCenterShape,
    handle: async (call, parts) => {
      const id = call.path['dataCenterId']!;
      const [found] = await readCenters(call, parts, id);
      if (!found) throw new CoreError('NOT_FOUND', `There is no data centre ${JSON.stringify(id.slice(0, 64))}.`);
      return found;
    },
  }),
];

async function readCenters(
  call: Call<{ include?: string[] }, unknown>,
  { core }: RestV2Parts,
  id?: string,
): Promise<object[]> {
  const { include = [] } = call.query;
  const withGpus = include.includes('GPU_AVAILABILITY');
  const [{ dataCenters }, types] = await Promise.all([
    core.catalog.call((client) => client.listDataCenters, {}, repeatable(call)),
    withGpus ? core.catalog.call((client) => client.listGpuTypes, {}, repeatable(call)) : undefined,
  ]);
  return dataCenters
    .filter((center) => id === undefined || center.id === id)
    .map((center) => ({
      id: center.id,
      name: center.id,
      region: 'UNKNOWN',
      globalNetwork: false,
      networkVolumeTypes: ['STANDARD'],
      compliance: [],
      ...(types && { gpuAvailability: gpusOf(center, types.gpuTypes) }),
      ...(include.includes('CPU_AVAILABILITY') && {
        cpuAvailability: POD_FLAVORS.map((flavor) => ({
          id: flavor,
          name: flavor,
          availability: cpuLevel(center.cpu, VCPUS, VCPUS * gbPerVcpu(flavor)),
        })),
      }),
    }));
}

function gpusOf({ gpus }: DataCenter, types: readonly GpuType[]): object[] {
  return gpus.map(({ gpuTypeId, total, free }) => ({
    id: gpuTypeId,
    name: types.find(({ id }) => id === gpuTypeId)?.displayName ?? gpuTypeId,
    availability: availabilityOf(availabilityWord({ total, free, countMax: total })),
  }));
}
