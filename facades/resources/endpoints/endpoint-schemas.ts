/** Shapes of endpoints on the REST surface (docs/management.md#endpoints). They check requests, shape answers and make the OpenAPI document. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { ENDPOINT_FLAVORS, sizeFields } from '../cpu-sizes.ts';
import { oneOf } from '../one-of.ts';
import { optional } from '../optional.ts';
import type { PodRecord } from '../pods/pod-record.ts';
import { textMap } from '../text-map.ts';
import { withDefaults } from '../with-defaults.ts';

const Strings = (description: string) => Type.Array(Type.String({ maxLength: 191 }), { maxItems: 100, description });
const Count = (minimum: number, maximum: number, description: string) => optional(Type.Integer({ minimum, maximum, description }));
const scalerType = oneOf(
  ['QUEUE_DELAY', 'REQUEST_COUNT'],
  'QUEUE_DELAY: a worker more for every scalerValue seconds of waiting. REQUEST_COUNT: a worker for every scalerValue jobs.',
);
const computeType = oneOf(['GPU', 'CPU'], 'CPU endpoints run on machines without a GPU. Fixed after creation.');
const endpointType = oneOf(['QB', 'LB'], 'Queue-based or load balancing. An extension; fixed after creation.');
const TemplateId = Type.String({ maxLength: 191, description: 'The template that its workers run: one that was made with isServerless true.' });

/** Fields that create and update share; none is required here. A change may name the fixed ones with the value that they have. */
const settings = {
  allowedCudaVersions: optional(Strings('CUDA versions a machine must support, any of them, 11.8 and 12.0 to 13.0 or any newer one. Default: any.')),
  dataCenterIds: optional(Strings('Data centres or country codes a machine must carry, any of them. Default: anywhere.')),
  env: optional(textMap('Environment of the workers, over the template\'s. An extension.')),
  executionTimeoutMs: Count(5_000, 604_800_000, 'Longest run of a job in milliseconds. Default 600000.'),
  flashboot: optional(Type.Boolean({ description: 'Keep scaled-down workers frozen for a fast start. Default false.' })),
  gpuCount: Count(1, 64, 'GPUs of a worker. Default 1; an endpoint with computeType CPU has 0.'),
  gpuTypeIds: optional(Strings('GPU type names in order of preference. Empty: any type, and while no machine has a GPU none.')),
  idleTimeout: Count(1, 3_600, 'Seconds a worker stays without a job. Default 5.'),
  minCudaVersion: optional(Type.String({ maxLength: 16, description: 'Oldest CUDA version, when allowedCudaVersions is not given.' })),
  name: optional(Type.String({ maxLength: 191, description: 'Default: the name of the template.' })),
  networkVolumeId: optional(Type.String({ maxLength: 191, description: 'A network volume to mount; empty: none.' })),
  networkVolumeIds: optional(Strings('Several network volumes, one for a data centre.')),
  scalerType: optional(scalerType),
  scalerValue: Count(1, 1_000_000, 'Target of the scaler. Default 4.'),
  workerConcurrency: Count(1, 100, 'Jobs a worker holds at once when its SDK does not say so itself. Default 1. An extension.'),
  workersMax: Count(0, 10_000, 'Most workers at any time. Default 3.'),
  workersMin: Count(0, 10_000, 'Fewest workers kept. Default 0.'),
  computeType: optional(computeType),
  type: optional(endpointType),
  ...sizeFields(ENDPOINT_FLAVORS),
};

const EXAMPLE = {
  name: 'ocr', templateId: 'x8f3k2m9q1', gpuTypeIds: ['NVIDIA L4', 'NVIDIA A40'], workersMin: 0, workersMax: 3, idleTimeout: 5,
};

const DEFAULTS = {
  allowedCudaVersions: [], computeType: 'GPU', dataCenterIds: [], env: {}, executionTimeoutMs: 600_000, flashboot: false, gpuCount: 1, gpuTypeIds: [],
  idleTimeout: 5, networkVolumeIds: [], scalerType: 'QUEUE_DELAY', scalerValue: 4, type: 'QB', workerConcurrency: 1, workersMax: 3, workersMin: 0,
};

/** Body of POST /endpoints. */
export const EndpointCreateInput = Type.Object({
  ...withDefaults(settings, DEFAULTS),
  templateId: TemplateId,
}, { $id: 'EndpointCreateInput', examples: [EXAMPLE] });
export type EndpointCreateInput = Static<typeof EndpointCreateInput>;

/** Body of PATCH /endpoints/{endpointId}: what is left out stays as it is. */
export const EndpointUpdateInput = Type.Object({
  ...settings,
  gpuCount: Count(0, 64, 'GPUs of a worker. 0 only for one with computeType CPU.'),
  templateId: optional(TemplateId),
}, { $id: 'EndpointUpdateInput', examples: [{ workersMin: 0, workersMax: 0 }] });
export type EndpointUpdateInput = Static<typeof EndpointUpdateInput>;

/** Workers that have ended, as they are answered. */
const EndedWorkersRecord = Type.Object({
  count: Type.Integer({ description: 'How many ended with this exit code and this last line.' }),
  exitCode: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: a signal ended them, or they are lost.' }),
  lastLine: Type.String({ description: 'The last line that each wrote, or why it is lost.' }),
  lastEndedAt: Type.Union([Type.String(), Type.Null()], { description: 'When the latest of them ended, ISO 8601.' }),
  lastWorkerId: Type.String({ description: 'The latest of them.' }),
}, { description: 'Workers that ended without being told to.' });
export type EndedWorkersRecord = Static<typeof EndedWorkersRecord>;

/** An endpoint as it is answered. */
export const EndpointRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  templateId: Type.String(),
  template: Type.Optional(Type.Unsafe<object>({ $ref: 'Template#' })),
  userId: Type.String({ description: 'The account.' }),
  version: Type.Integer({ description: 'Grows with every change that replaces workers.' }),
  createdAt: Type.Optional(Type.String({ description: 'ISO 8601 in UTC with milliseconds.' })),
  type: endpointType,
  computeType,
  gpuTypeIds: Type.Array(Type.String()),
  gpuCount: Type.Integer(),
  instanceIds: Type.Array(Type.String(), { description: 'With computeType CPU: sizes in order of preference, as cpu3c-2-4. Empty: none.' }),
  allowedCudaVersions: Type.Array(Type.String()),
  minCudaVersion: Type.Optional(Type.String({ description: 'Lowest of allowedCudaVersions. Missing: any will do.' })),
  dataCenterIds: Type.Array(Type.String()),
  env: textMap('Environment of the workers, over the template\'s.'),
  executionTimeoutMs: Type.Integer(),
  flashboot: Type.Boolean(),
  idleTimeout: Type.Integer({ description: 'Seconds.' }),
  networkVolumeId: Type.Optional(Type.String()),
  networkVolumeIds: Type.Array(Type.String()),
  scalerType,
  scalerValue: Type.Integer(),
  workerConcurrency: Type.Integer({ description: 'Jobs a worker holds at once when its SDK does not say so itself. An extension.' }),
  workersMin: Type.Integer(),
  workersMax: Type.Integer(),
  workersStandby: Type.Integer({ description: 'The same as workersMin.' }),
  throttledReason: Type.Optional(Type.String({ description: 'Why workers that it should have find no place. Missing: none is throttled. An extension.' })),
  workers: Type.Optional(Type.Array(Type.Unsafe<PodRecord>({ $ref: 'Pod#' }), { description: 'Without their environment.' })),
  endedWorkers: Type.Optional(Type.Array(EndedWorkersRecord, {
    description: 'With includeWorkers: workers that crashed or were lost within a day, grouped, the latest first. An extension.',
  })),
}, { $id: 'Endpoint' });
export type EndpointRecord = Static<typeof EndpointRecord>;
