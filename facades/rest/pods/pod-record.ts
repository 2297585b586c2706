/** A pod as it is answered (compat.md 3.5). What only a rented machine has is left out. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { oneOf } from '../one-of.ts';
import { textMap } from '../text-map.ts';
import type { NetworkVolumeRecord } from '../volumes/volume-schemas.ts';

const nullableText = (description: string) => Type.Unsafe<string | null>({ type: 'string', nullable: true, description });

const PodGpu = Type.Object({
  id: Type.String({ description: 'GPU type name.' }),
  count: Type.Integer(),
  displayName: Type.String(),
  securePrice: Type.Number({ description: 'US dollars an hour for one, by the operator\'s price table.' }),
  communityPrice: Type.Number({ description: 'The same.' }),
}, { description: 'Missing for a pod without a GPU.' });

const PodMachine = Type.Object({
  cpuCount: Type.Integer({ description: '0: not known.' }),
  dataCenterId: Type.String({ description: 'Empty: none.' }),
  gpuAvailable: Type.Integer({ description: 'GPUs of the machine, whoever has them now.' }),
  gpuDisplayName: Type.String({ description: 'Empty without a GPU.' }),
  gpuTypeId: Type.String({ description: 'Empty without a GPU.' }),
  location: Type.String({ description: 'Country code. Empty: none.' }),
  note: Type.String({ description: 'Host name.' }),
  secureCloud: Type.Boolean({ description: 'Always true: it is one\'s own.' }),
  supportPublicIp: Type.Boolean({ description: 'Always false.' }),
});

/** See the file's first line. */
export const PodRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  image: Type.String(),
  consumerUserId: Type.String({ description: 'The account.' }),
  desiredStatus: oneOf(['RUNNING', 'EXITED', 'TERMINATED'], 'What it shall do. Pods that were deleted are gone, never TERMINATED.'),
  lastStatusChange: Type.String({ description: 'What happened last, for a person.' }),
  lastStartedAt: Type.Optional(Type.String({ description: 'ISO 8601 in UTC with milliseconds.' })),
  machineId: Type.String({ description: 'Where it runs. Empty: nowhere yet.' }),
  machine: Type.Optional(PodMachine),
  templateId: Type.Optional(Type.String()),
  template: Type.Optional(Type.Unsafe<object>({ $ref: 'Template#' })),
  endpointId: nullableText('Endpoint whose worker it is.'),
  aiApiId: nullableText('Always null.'),
  slsVersion: Type.Optional(Type.Integer({ description: 'Of a worker: the endpoint version it was started from.' })),
  gpu: Type.Optional(PodGpu),
  memoryInGb: Type.Number({ description: 'Memory of its machine. 0: not known.' }),
  vcpuCount: Type.Number({ description: 'Processors of its machine. 0: not known.' }),
  containerDiskInGb: Type.Integer(),
  containerRegistryAuthId: Type.Optional(Type.String()),
  volumeInGb: Type.Integer(),
  volumeMountPath: Type.String(),
  volumeEncrypted: Type.Boolean({ description: 'Always false: that is for the machine\'s file system.' }),
  networkVolume: Type.Optional(Type.Unsafe<NetworkVolumeRecord>({ $ref: 'NetworkVolume#' })),
  dockerEntrypoint: Type.Array(Type.String()),
  dockerStartCmd: Type.Array(Type.String()),
  env: textMap('Its environment; never shown of workers.'),
  workingDirectory: Type.Optional(Type.String()),
  ports: Type.Array(Type.String()),
  portMappings: Type.Unsafe<Record<string, number> | null>({
    type: 'object', additionalProperties: { type: 'integer' }, nullable: true, description: 'Always null: ports are not translated.',
  }),
  publicIp: nullableText('Always null: reach it at its machine\'s address.'),
  interruptible: Type.Boolean(),
  locked: Type.Boolean(),
  costPerHr: Type.Number({ description: 'US dollars, by the operator\'s price table.' }),
  adjustedCostPerHr: Type.Number({ description: 'The same.' }),
  savingsPlans: Type.Optional(Type.Array(Type.Unsafe<object>({ type: 'object' }), { description: 'Always empty.' })),
}, { $id: 'Pod' });
export type PodRecord = Static<typeof PodRecord>;

/** Path of one pod. */
export const PodPath = Type.Object({ podId: Type.String({ description: 'Id of the pod.' }) });
