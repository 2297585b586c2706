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
  include: listOf(word(['AVAILABILITY']), 'Add what is free now; needs product.', 1),
  product: listOf(
    word(['POD', 'SERVERLESS', 'CLUSTER']),
    "For what. On one's own machines pods and workers find the same.",
  ),
};

/** Query of GPU types. */
export const GpuQuery = Type.Object({
  ...availability,
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 64, default: 1, description: 'GPUs that are to be on one machine.' }),
  ),
  cloud: Type.Optional(word(['ALL', 'SECURE', 'COMMUNITY'], "One's own machines are SECURE.")),
  countryCodes: Type.Optional(
    Type.Array(Type.String({ pattern: '^[A-Z]{2}$' }), { maxItems: LIST_MAX, description: 'Only in these countries.' }),
  ),
  cudaVersions: Type.Optional(
    Type.Array(Type.String({ pattern: VERSION, maxLength: 7 }), {
      maxItems: LIST_MAX,
      description: 'Only with one of these CUDA versions.',
    }),
  ),
  minCudaVersion: Type.Optional(
    Type.String({
      pattern: '^\\d+(\\.\\d+)?$',
      maxLength: 7,
      description: 'Only with this CUDA version or a newer one.',
    }),
  ),
});
export type GpuQuery = Static<typeof GpuQuery>;

/** Query of CPU types. */
export const CpuQuery = Type.Object({
  ...availability,
  vcpuCount: Type.Optional(
    Type.Integer({ minimum: 2, maximum: 1_024, default: 2, description: 'Processors that are to be on one machine.' }),
  ),
});
export type CpuQuery = Static<typeof CpuQuery>;

/** Query of one data centre. */
export const DataCenterQuery = Type.Object({
  include: listOf(word(['GPU_AVAILABILITY', 'CPU_AVAILABILITY']), 'Add what is free there now.', 2),
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
  regions: listOf(word(REGIONS), 'Only in these regions. All are UNKNOWN here.'),
  networkVolumeTypes: listOf(word(['STANDARD', 'HIGH_PERFORMANCE']), 'Only with volumes of one of these types.'),
  compliance: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: LIST_MAX,
      description: 'Only with all of these. None is known here.',
    }),
  ),
  globalNetwork: Type.Optional(
    Type.Boolean({ description: 'Only with a network across data centres, which none has here.' }),
  ),
});
export type DataCentersQuery = Static<typeof DataCentersQuery>;

/** Returns whether the query asks for availability. Throws 400 without a product. */
export function asksForAvailability({ include, product }: Pick<GpuQuery, 'include' | 'product'>): boolean {
  if (!include?.length) return false;
  if (!product?.length) throw against('include=AVAILABILITY needs product, as product=POD or product=SERVERLESS.');
  return true;
}
