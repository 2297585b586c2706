/** Schemas of the fields for the size of a resource without a GPU (cpu-sizes.ts). */
import { Type } from 'typebox';
import type { Flavor } from './cpu-sizes.ts';
import { DEFAULT_FLAVOR, DEFAULT_VCPUS } from './cpu-sizes.ts';
import { oneOf } from './one-of.ts';
import { optional } from './optional.ts';

/** Returns the schemas. */
export function sizeFields<const Known extends Flavor>(flavors: readonly Known[]) {
  const each =
    'The last letter is the memory for each processor: c 2 GB, g 4 GB, m 8 GB. Flavours have no other difference.';
  return {
    cpuFlavorIds: optional(
      Type.Array(oneOf(flavors), {
        maxItems: 100,
        description:
          `Only with computeType CPU: CPU flavours in order of preference. ${each} ` +
          `Default: none, or ${DEFAULT_FLAVOR} with vcpuCount.`,
      }),
    ),
    vcpuCount: optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_024,
        description: `Only with computeType CPU: processors. Default: none, or ${DEFAULT_VCPUS} with cpuFlavorIds.`,
      }),
    ),
    instanceIds: optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 100,
        description:
          'Sizes as flavour-processors-GB, for instance cpu3c-2-4. Use it instead of cpuFlavorIds ' +
          'and vcpuCount. An extension.',
      }),
    ),
  };
}
