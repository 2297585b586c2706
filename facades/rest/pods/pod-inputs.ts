/**
 * Bodies that create and change pods (docs/reference/management.md#pods): the settings of the table, and further
 * members of this surface. Members that have no meaning on one's own machines are accepted without effect.
 */

import type { Static, TObject } from 'typebox';
import { Type } from 'typebox';
import { sizeFields } from '../../resources/cpu-size-fields.ts';
import { POD_FLAVORS } from '../../resources/cpu-sizes.ts';
import { changeable } from '../../resources/field.ts';
import { oneOf } from '../../resources/one-of.ts';
import { optional } from '../../resources/optional.ts';
import { POD } from '../../resources/pods/pod-table.ts';
import { bodyMembers } from '../../resources/rest-shapes.ts';
import type { RestBody } from '../../resources/rest-values.ts';
import { withDefaults } from '../../resources/with-defaults.ts';

const WITHOUT_EFFECT = 'Accepted without effect on machines of your own.';
const leastOf = (description: string) => optional(Type.Number({ minimum: 0, description }));
const leastWhole = (description: string) => optional(Type.Integer({ minimum: 0, maximum: 65_536, description }));
const priority = (whose: string) => optional(oneOf(['availability', 'custom'], `Order of ${whose}. ${WITHOUT_EFFECT}`));

/** Further members of both bodies. */
const besides = {
  dockerArgs: optional(
    Type.String({
      maxLength: 131_072,
      description: 'Command line as one text, which is split as a shell splits it. Use it instead of dockerStartCmd.',
    }),
  ),
  globalNetworking: optional(Type.Boolean({ description: WITHOUT_EFFECT })),
};

/** Further members of the body that creates. */
const creation = {
  cloudType: optional(oneOf(['SECURE', 'COMMUNITY'], WITHOUT_EFFECT)),
  countryCodes: optional(
    Type.Array(Type.String({ maxLength: 191 }), {
      maxItems: 100,
      description: 'Country codes. The machine is in one of them. Only without dataCenterIds. Default: anywhere.',
    }),
  ),
  cpuFlavorPriority: priority('CPU flavours'),
  dataCenterPriority: priority('data centres'),
  gpuTypePriority: priority('GPU types'),
  minCudaVersion: optional(
    Type.String({
      maxLength: 16,
      description: 'Oldest CUDA version that a machine must support. Only without allowedCudaVersions. Default: any.',
    }),
  ),
  minDiskBandwidthMBps: leastOf(WITHOUT_EFFECT),
  minDownloadMbps: leastOf(WITHOUT_EFFECT),
  minRAMPerGPU: leastWhole('Least memory in GB of the machine for each GPU. Default: any.'),
  minUploadMbps: leastOf(WITHOUT_EFFECT),
  minVCPUPerGPU: leastWhole('Least processors of the machine for each GPU. Default: any.'),
  supportPublicIp: optional(Type.Boolean({ description: WITHOUT_EFFECT })),
  ...sizeFields(POD_FLAVORS),
};

/** Defaults of members without effect. */
const DEFAULTS = {
  cloudType: 'SECURE',
  cpuFlavorPriority: 'availability',
  dataCenterPriority: 'availability',
  gpuTypePriority: 'availability',
  globalNetworking: false,
};

const EXAMPLE = { name: 'notebook', computeType: 'CPU', imageName: 'notebook:1', dockerStartCmd: ['jupyter', 'lab'] };

/** Body of POST /pods. */
export const PodCreateInput = Type.Object(
  {
    ...bodyMembers(POD, { creates: true }),
    ...withDefaults({ ...besides, ...creation }, DEFAULTS),
  },
  { $id: 'PodCreateInput', examples: [EXAMPLE] },
);
export type PodCreateInput = PodUpdateInput & Static<TObject<typeof creation>>;

/** Body of PATCH /pods/{podId}. Absent members stay unchanged. */
export const PodUpdateInput = Type.Object(
  { ...bodyMembers(changeable(POD)), ...besides },
  { $id: 'PodUpdateInput', examples: [{ name: 'renamed' }] },
);
export type PodUpdateInput = RestBody<typeof POD> & Static<TObject<typeof besides>>;
