/**
 * Shapes of endpoints on the REST surface (docs/reference/management.md#endpoints): the settings of the table, and
 * further members of this surface. They validate requests, serialize responses and make the OpenAPI document.
 */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { sizeFields } from '../cpu-size-fields.ts';
import type { SizeInput } from '../cpu-sizes.ts';
import { ENDPOINT_FLAVORS } from '../cpu-sizes.ts';
import { optional } from '../optional.ts';
import type { PodRecord } from '../pods/pod-record.ts';
import { bodyMembers, member, recordMembers } from '../rest-shapes.ts';
import type { RestBody, RestRecord } from '../rest-values.ts';
import { ENDPOINT } from './endpoint-table.ts';

/** Alternative members for settings. */
const besides = {
  minCudaVersion: optional(
    Type.String({
      maxLength: 16,
      description: 'Oldest CUDA version that a machine must support. Only without allowedCudaVersions. Default: any.',
    }),
  ),
  networkVolumeId: optional(
    Type.String({ maxLength: 191, description: 'Id of a network volume to mount. Empty: none.' }),
  ),
  ...sizeFields(ENDPOINT_FLAVORS),
};

const EXAMPLE = {
  name: 'ocr',
  templateId: 'x8f3k2m9q1',
  gpuTypeIds: ['NVIDIA L4', 'NVIDIA A40'],
  workersMin: 0,
  workersMax: 3,
  idleTimeout: 5,
};
const { gpuCount } = ENDPOINT;

/** Body of POST /endpoints. */
export const EndpointCreateInput = Type.Object(
  {
    ...bodyMembers(ENDPOINT, { creates: true }),
    ...besides,
  },
  { $id: 'EndpointCreateInput', examples: [EXAMPLE] },
);
export type EndpointCreateInput = EndpointUpdateInput & { templateId: string };

/**
 * Body of PATCH /endpoints/{endpointId}. Absent members stay unchanged. A change may include fixed settings with their
 * current value.
 */
export const EndpointUpdateInput = Type.Object(
  {
    ...bodyMembers(ENDPOINT),
    ...besides,
    gpuCount: optional(member(gpuCount.kind, 'GPUs of a worker. 0 only for one with computeType CPU.', gpuCount.rule)),
  },
  { $id: 'EndpointUpdateInput', examples: [{ workersMin: 0, workersMax: 0 }] },
);
export type EndpointUpdateInput = RestBody<typeof ENDPOINT> &
  SizeInput & { minCudaVersion?: string; networkVolumeId?: string };

/** Workers that have ended, as they are answered. */
const EndedWorkersRecord = Type.Object(
  {
    count: Type.Integer({ description: 'Number of workers that ended like this.' }),
    exitCode: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Exit code. Null: a signal ended them, or they are lost.',
    }),
    reason: Type.String({ description: 'How they ended, in a sentence.' }),
    lastLine: Type.String({
      description: 'The last line that the latest of them wrote. If it wrote none: the reason again.',
    }),
    lastEndedAt: Type.Union([Type.String(), Type.Null()], {
      description: 'When the latest of them ended: ISO 8601 in UTC.',
    }),
    lastWorkerId: Type.String({ description: 'Id of the latest of them.' }),
  },
  { description: 'Workers that ended without being told to, in groups by how they ended.' },
);
export type EndedWorkersRecord = Static<typeof EndedWorkersRecord>;

/** Members of an endpoint's record besides its settings. */
const more = Type.Object({
  id: Type.String(),
  template: Type.Optional(Type.Unsafe<object>({ $ref: 'Template#' })),
  userId: Type.String({ description: 'Id of the account.' }),
  version: Type.Integer({ description: 'Grows with every change that replaces workers.' }),
  createdAt: Type.Optional(Type.String({ description: 'Time: ISO 8601 in UTC with milliseconds.' })),
  minCudaVersion: Type.Optional(Type.String({ description: 'Lowest of allowedCudaVersions. Absent: any version.' })),
  networkVolumeId: Type.Optional(Type.String()),
  workersStandby: Type.Integer({ description: 'Same value as workersMin.' }),
  throttledReason: Type.Optional(
    Type.String({
      description:
        'Why workers wait for capacity, or that jobs wait because workersMax is 0. Absent otherwise. An extension.',
    }),
  ),
  cannotRunReason: Type.Optional(
    Type.String({
      description: 'Why no present machine can ever run its workers. Absent if one can. An extension.',
    }),
  ),
  flashBootStandbyReason: Type.Optional(
    Type.String({
      description:
        'Why workers on standby keep their GPU memory although flashBootStandby allows to move it. Absent otherwise. ' +
        'An extension.',
    }),
  ),
  rolloutState: Type.Optional(
    Type.String({
      description:
        'State of the rollout of its version: CHECKING, ROLLING, REPLACING, HELD or ROLLED_BACK. ' +
        'Absent when all workers run the version. An extension.',
    }),
  ),
  rolloutReason: Type.Optional(
    Type.String({
      description: 'The state of the rollout in a sentence. For HELD: why the version does not start. An extension.',
    }),
  ),
  servingVersion: Type.Optional(
    Type.Integer({ description: 'The version that serves now. Present together with rolloutState. An extension.' }),
  ),
  workers: Type.Optional(
    Type.Array(Type.Unsafe<PodRecord>({ $ref: 'Pod#' }), {
      description: 'The workers of the endpoint, without their environment.',
    }),
  ),
  endedWorkers: Type.Optional(
    Type.Array(EndedWorkersRecord, {
      description:
        'With includeWorkers: workers that crashed or were lost within a day, grouped, the latest first. An extension.',
    }),
  ),
});

const { id, ...others } = more.properties;

/** An endpoint in responses. */
export const EndpointRecord = Type.Object({ id, ...recordMembers(ENDPOINT), ...others }, { $id: 'Endpoint' });
export type EndpointRecord = RestRecord<typeof ENDPOINT> & Static<typeof more>;
