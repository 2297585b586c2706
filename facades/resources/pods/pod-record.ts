/** A pod in responses (docs/reference/management.md#pods). */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { oneOf } from '../one-of.ts';
import { recordMembers } from '../rest-shapes.ts';
import type { RestRecord } from '../rest-values.ts';
import type { NetworkVolumeRecord } from '../volumes/volume-schemas.ts';
import { PodGpu, PodMachine } from './pod-machine.ts';
import { POD } from './pod-table.ts';
import { WorkerMemory } from './worker-memory-schema.ts';

const nullableText = (description: string) =>
  Type.Unsafe<string | null>({ type: 'string', nullable: true, description });

const SavingsPlan = Type.Object({
  id: Type.String(),
  podId: Type.String(),
  gpuTypeId: Type.String(),
  costPerHr: Type.Number(),
  startTime: Type.String(),
  endTime: Type.String(),
});

/** Members of a pod's record besides its settings. */
const more = Type.Object({
  id: Type.String(),
  image: Type.String(),
  consumerUserId: Type.String({ description: 'Id of the account.' }),
  desiredStatus: oneOf(
    ['RUNNING', 'EXITED', 'TERMINATED'],
    'Desired state. Deleted pods disappear and are never TERMINATED.',
  ),
  lastStatusChange: Type.String({ description: 'The last change of the pod, as a sentence for people.' }),
  lastStartedAt: Type.Optional(Type.String({ description: 'Time: ISO 8601 in UTC with milliseconds.' })),
  machineId: Type.String({ description: 'Id of its machine. Empty: it has none yet.' }),
  machine: Type.Optional(PodMachine),
  template: Type.Optional(Type.Unsafe<object>({ $ref: 'Template#' })),
  endpointId: nullableText('Endpoint whose worker it is.'),
  aiApiId: nullableText('Always null.'),
  slsVersion: Type.Optional(
    Type.Integer({ description: 'Only of a worker: the version of the endpoint that it runs.' }),
  ),
  gpu: Type.Optional(PodGpu),
  cpuFlavorId: Type.Optional(
    Type.String({ description: 'CPU flavour of its size, for instance cpu3c. Absent: it has no size.' }),
  ),
  memoryInGb: Type.Number({
    description: 'Memory in GB: that of its size, or without a size that of its machine. 0: unknown.',
  }),
  vcpuCount: Type.Number({
    description: 'Processors: those of its size, or without a size those of its machine. 0: unknown.',
  }),
  volumeEncrypted: Type.Boolean({ description: "Always false: encryption is up to the machine's file system." }),
  networkVolume: Type.Optional(Type.Unsafe<NetworkVolumeRecord>({ $ref: 'NetworkVolume#' })),
  portMappings: Type.Unsafe<Record<string, number> | null>({
    type: 'object',
    additionalProperties: { type: 'integer' },
    nullable: true,
    description: 'Number at publicIp of each TCP port that clients can dial. Null: none.',
  }),
  publicIp: nullableText('Host name or address of its machine, if that publishes its TCP ports.'),
  costPerHr: Type.Number({ description: "Cost in US dollars, by the operator's price table." }),
  adjustedCostPerHr: Type.Number({ description: 'The same.' }),
  savingsPlans: Type.Optional(Type.Array(SavingsPlan, { description: 'Always empty: there are no savings plans.' })),
});

const { id, ...others } = { ...more.properties, ...WorkerMemory.properties };

/** Record of a pod. */
export const PodRecord = Type.Object({ id, ...recordMembers(POD), ...others }, { $id: 'Pod' });
export type PodRecord = RestRecord<typeof POD> & Static<typeof more> & Static<typeof WorkerMemory>;
