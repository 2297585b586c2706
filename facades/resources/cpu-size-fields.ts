/** Schemas of the fields for the size of a resource without a GPU (cpu-sizes.ts). */
import { Type } from 'typebox';
import type { Flavor } from './cpu-sizes.ts';
import { DEFAULT_FLAVOR, DEFAULT_VCPUS } from './cpu-sizes.ts';
import { oneOf } from './one-of.ts';
import { optional } from './optional.ts';

/** Returns the schemas. */
export function sizeFields<const Known extends Flavor>(flavors: readonly Known[]) {
  const each = "Memory for each processor: c 2 GB, g 4 GB, m 8 GB; else all flavours are alike on one's own machines.";
  return {
    cpuFlavorIds: optional(
      Type.Array(oneOf(flavors), {
        maxItems: 100,
        description:
          `Only with computeType CPU: flavours in order of preference. ${each} Default: no size; with vcpuCount ` +
          `${DEFAULT_FLAVOR}.`,
      }),
    ),
    vcpuCount: optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_024,
        description: `Only with computeType CPU: processors. Default with cpuFlavorIds ${DEFAULT_VCPUS}, else no size.`,
      }),
    ),
    instanceIds: optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 100,
        description: 'Sizes as they are answered, in place of both: flavour-processors-GB. An extension.',
      }),
    ),
  };
}
