/** CPU flavours in REST v2. On one's own machines they are names for the amount of memory per processor. */

import type { CpuRoom } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { availabilityWord } from '../../resources/availability-word.ts';
import { gbPerVcpu, POD_FLAVORS } from '../../resources/cpu-sizes.ts';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { operation, repeatable } from '../operation.ts';
import { named } from '../schema-parts.ts';
import { asksForAvailability, CpuQuery } from './catalog-query.ts';
import type { Level } from './levels.ts';
import { availabilityOf, dataCenterAvailability, levels } from './levels.ts';

const TAG = { tag: 'catalog' };
/** Fewest and most processors that a size may have. */
const VCPUS = { min: 2, max: 1_024 };

const CpuShape = named(
  'CpuType',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    group: Type.String(),
    vcpu: Type.Object({ min: Type.Integer(), max: Type.Integer() }),
    ramGbPerVcpu: Type.Number(),
    price: Type.Object(
      { securePerVcpu: Type.Number(), serverlessPerVcpu: Type.Number() },
      { description: 'Always 0: billing has the prices.' },
    ),
    availability: Type.Optional(levels),
    dataCenters: Type.Optional(
      Type.Array(dataCenterAvailability, { description: 'Data centres in which some are free.' }),
    ),
  }),
);

/** The operations. */
export const cpuOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListCpuTypes',
    method: 'GET',
    path: '/v2/catalog/cpus',
    summary: 'List CPU flavours',
    query: CpuQuery,
    status: 200,
    errors: [400],
    answer: named('ListCpuTypesResponse', Type.Object({ cpus: Type.Array(CpuShape) })),
    handle: async (call, parts) => ({ cpus: await readTypes(call, parts) }),
  }),
  operation({
    ...TAG,
    id: 'GetCpuType',
    method: 'GET',
    path: '/v2/catalog/cpus/{cpuTypeId}',
    summary: 'Read a CPU flavour',
    query: CpuQuery,
    status: 200,
    answer: CpuShape,
    errors: [400],
    handle: async (call, parts) => {
      const id = call.path['cpuTypeId']!;
      const [found] = await readTypes(call, parts, id);
      if (!found)
        throw new CoreError(
          'NOT_FOUND',
          `There is no CPU flavour ${JSON.stringify(id.slice(0, 64))}. There are ${POD_FLAVORS.join(', ')}.`,
        );
      return found;
    },
  }),
];

async function readTypes(call: Call<CpuQuery, unknown>, { core }: RestV2Parts, asked?: string): Promise<object[]> {
  const { vcpuCount = VCPUS.min } = call.query;
  const fleet = asksForAvailability(call.query)
    ? await core.catalog.call((client) => client.listDataCenters, {}, repeatable(call))
    : undefined;
  return POD_FLAVORS.filter((id) => asked === undefined || id === asked).map((id) => {
    const ramGbPerVcpu = gbPerVcpu(id);
    const type = {
      id,
      name: id,
      group: id,
      vcpu: VCPUS,
      ramGbPerVcpu,
      price: { securePerVcpu: 0, serverlessPerVcpu: 0 },
    };
    if (!fleet) return type;
    const levelOf = (capacity: CpuRoom | undefined): Level => cpuLevel(capacity, vcpuCount, vcpuCount * ramGbPerVcpu);
    const dataCenters = fleet.dataCenters.map((center) => ({
      id: center.id,
      name: center.id,
      availability: levelOf(center.cpu),
    }));
    return {
      ...type,
      availability: levelOf(fleet.cpu),
      dataCenters: dataCenters.filter(({ availability }) => availability !== 'NONE'),
    };
  });
}

/** Returns the available capacity for a size. */
export function cpuLevel(capacity: CpuRoom | undefined, vcpus: number, memoryGb: number): Level {
  if (!capacity || capacity.freeVcpus < vcpus || capacity.freeMemoryGb < memoryGb) return 'NONE';
  return availabilityOf(
    availabilityWord({ total: capacity.slots, free: capacity.freeSlots, countMax: capacity.slots }),
  );
}
