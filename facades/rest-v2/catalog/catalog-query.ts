/** Queries of the REST v2 catalogue. */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { against } from '../rejections.ts';
import { word } from '../schema-parts.ts';

const VERSION = '^\\d+\\.\\d+$';
const LIST_MAX = 50;
const listOf = (item: ReturnType<typeof word>, description: string, maxItems = LIST_MAX) =>
  Type.Optional(Type.Array(item, { maxItems, description }));

const availability = {
  include: listOf(word(['AVAILABILITY']), 'Adds what is free now. Requires product.', 1),
  product: listOf(
    word(['POD', 'SERVERLESS', 'CLUSTER']),
    'What the resource is for. It makes no difference: pods and workers use the same machines.',
  ),
};

/** Query of GPU types. */
export const GpuQuery = Type.Object({
  ...availability,
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 64, default: 1, description: 'Number of GPUs needed on one machine.' }),
  ),
  cloud: Type.Optional(word(['ALL', 'SECURE', 'COMMUNITY'], 'Kind of cloud. All machines are SECURE.')),
  countryCodes: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), {
      maxItems: LIST_MAX,
      description: 'Country codes. Only data centres in one of them.',
    }),
  ),
  cudaVersions: Type.Optional(
    Type.Array(Type.String({ pattern: VERSION, maxLength: 7 }), {
      maxItems: LIST_MAX,
      description: 'Only GPUs of machines that support one of these CUDA versions.',
    }),
  ),
  minCudaVersion: Type.Optional(
    Type.String({
      pattern: '^\\d+(\\.\\d+)?$',
      maxLength: 7,
      description: 'Only GPUs of machines that support this CUDA version or a newer one.',
    }),
  ),
});
export type GpuQuery = Static<typeof GpuQuery>;

/** Query of CPU types. */
export const CpuQuery = Type.Object({
  ...availability,
  vcpuCount: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 1_024,
      default: 2,
      description: 'Number of processors needed on one machine.',
    }),
  ),
});
export type CpuQuery = Static<typeof CpuQuery>;

/** Query of one data centre. */
export const DataCenterQuery = Type.Object({
  include: listOf(word(['GPU_AVAILABILITY', 'CPU_AVAILABILITY']), 'Adds what is free there now.', 2),
});
const REGIONS = [
  'NORTH_AMERICA',
  'SOUTH_AMERICA',
  'EUROPE',
  'ASIA',
  'MIDDLE_EAST',
  'AFRICA',
  'OCEANIA',
  'ANTARCTICA',
  'UNKNOWN',
] as const;

/** Query of a list of data centres. */
export const DataCentersQuery = Type.Object({
  ...DataCenterQuery.properties,
  regions: listOf(word(REGIONS), 'Only data centres in one of these regions. The region of all of them is UNKNOWN.'),
  networkVolumeTypes: listOf(
    word(['STANDARD', 'HIGH_PERFORMANCE']),
    'Only data centres with network volumes of one of these types.',
  ),
  compliance: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: LIST_MAX,
      description: 'Only data centres with all of these certificates. None of them is known here.',
    }),
  ),
  globalNetwork: Type.Optional(
    Type.Boolean({ description: 'Only data centres with a network across data centres. There are none.' }),
  ),
});
export type DataCentersQuery = Static<typeof DataCentersQuery>;

/** Returns whether the query asks for availability. Throws 400 without a product. */
export function asksForAvailability({ include, product }: Pick<GpuQuery, 'include' | 'product'>): boolean {
  if (!include?.length) return false;
  if (!product?.length) throw against('include=AVAILABILITY needs product, as product=POD or product=SERVERLESS.');
  return true;
}
