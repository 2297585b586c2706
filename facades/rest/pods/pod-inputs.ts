/** Bodies that create and change pods (docs/management.md#pods). What means nothing on one's own machines is taken and has no effect. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { POD_FLAVORS, sizeFields } from '../../resources/cpu-sizes.ts';
import { oneOf } from '../../resources/one-of.ts';
import { optional } from '../../resources/optional.ts';
import { Port } from '../../resources/port.ts';
import { textMap } from '../../resources/text-map.ts';
import { withDefaults } from '../../resources/with-defaults.ts';

const WITHOUT_EFFECT = 'Taken and without effect on one\'s own machines.';
const Words = (description: string) => Type.Array(Type.String({ maxLength: 131_072 }), { maxItems: 1_000, description });
const Strings = (description: string) => Type.Array(Type.String({ maxLength: 191 }), { maxItems: 100, description });
const Text = (description: string, maxLength = 191) => Type.String({ maxLength, description });
const whole = (minimum: number, maximum: number, description: string) => optional(Type.Integer({ minimum, maximum, description }));
const leastOf = (description: string) => optional(Type.Number({ minimum: 0, description }));
const priority = (whose: string) => optional(oneOf(['availability', 'custom'], `Order of ${whose}. ${WITHOUT_EFFECT}`));

/** Fields that create and update share; none is required here. */
const settings = {
  containerDiskInGb: whole(1, 65_536, 'Disk of the container in GB. Default 50.'),
  containerRegistryAuthId: optional(Text('Credentials for the image\'s registry; empty: none.')),
  dockerArgs: optional(Text('The command line as one text, divided as a shell divides it; in place of dockerStartCmd.', 131_072)),
  dockerEntrypoint: optional(Words('Replaces the image\'s entry point.')),
  dockerStartCmd: optional(Words('Command line; with the process executor the program and its arguments.')),
  env: optional(textMap('Its environment, over the template\'s.')),
  globalNetworking: optional(Type.Boolean({ description: WITHOUT_EFFECT })),
  imageName: optional(Text('Container image. Without one dockerStartCmd is a command of the host, on machines whose operator allows that.', 4_096)),
  locked: optional(Type.Boolean({ description: 'Refuse to stop, reset or change it until it is unlocked. Default false.' })),
  name: optional(Text('Default `my pod`.')),
  ports: optional(Type.Array(Port, { maxItems: 100, description: 'Exposed ports. Default 8888/http and 22/tcp.' })),
  volumeInGb: whole(0, 65_536, 'Size of its volume in GB. Default 20.'),
  volumeMountPath: optional(Text('Where the volume appears. Default /workspace.', 4_096)),
  workingDirectory: optional(Text('Working directory of the process executor. An extension.', 4_096)),
};

/** Fields that only a creation has. */
const creation = {
  allowedCudaVersions: optional(Strings('CUDA versions its machine must support, any of them. Default: any.')),
  cloudType: optional(oneOf(['SECURE', 'COMMUNITY'], WITHOUT_EFFECT)),
  computeType: optional(oneOf(['GPU', 'CPU'], 'With or without a GPU. Default GPU.')),
  countryCodes: optional(Strings('Countries, any of them, when dataCenterIds is not given. Default: anywhere.')),
  cpuFlavorPriority: priority('CPU flavours'),
  dataCenterIds: optional(Strings('Data centres, any of them. Default: anywhere.')),
  dataCenterPriority: priority('data centres'),
  gpuCount: whole(1, 64, 'GPUs it gets. Default 1.'),
  gpuTypeIds: optional(Strings('GPU type names in order of preference. Default: any.')),
  gpuTypePriority: priority('GPU types'),
  interruptible: optional(Type.Boolean({ description: 'Kept as given. Default false.' })),
  minCudaVersion: optional(Text('Oldest CUDA version, when allowedCudaVersions is not given.', 16)),
  minDiskBandwidthMBps: leastOf(WITHOUT_EFFECT),
  minDownloadMbps: leastOf(WITHOUT_EFFECT),
  minRAMPerGPU: whole(0, 65_536, WITHOUT_EFFECT),
  minUploadMbps: leastOf(WITHOUT_EFFECT),
  minVCPUPerGPU: whole(0, 65_536, WITHOUT_EFFECT),
  networkVolumeId: optional(Text('Network volume in place of its own; empty: none.')),
  supportPublicIp: optional(Type.Boolean({ description: WITHOUT_EFFECT })),
  templateId: optional(Text('Gives what is not given here; empty: none.')),
  ...sizeFields(POD_FLAVORS),
};

/** What a template may give has no default here. */
const DEFAULTS = {
  allowedCudaVersions: [], cloudType: 'SECURE', computeType: 'GPU', cpuFlavorPriority: 'availability', dataCenterPriority: 'availability', gpuCount: 1,
  gpuTypeIds: [], gpuTypePriority: 'availability', globalNetworking: false, interruptible: false, locked: false, minRAMPerGPU: 8, minVCPUPerGPU: 2,
  name: 'my pod',
};

const EXAMPLE = { name: 'notebook', computeType: 'CPU', imageName: 'notebook:1', dockerStartCmd: ['jupyter', 'lab'] };

/** Body of POST /pods. */
export const PodCreateInput = Type.Object({
  ...withDefaults({ ...settings, ...creation }, DEFAULTS),
}, { $id: 'PodCreateInput', examples: [EXAMPLE] });
export type PodCreateInput = Static<typeof PodCreateInput>;

/** Body of PATCH /pods/{podId}: what is left out stays as it is. */
export const PodUpdateInput = Type.Object(settings, { $id: 'PodUpdateInput', examples: [{ name: 'renamed' }] });
export type PodUpdateInput = Static<typeof PodUpdateInput>;
