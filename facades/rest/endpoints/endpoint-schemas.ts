/** Shapes of endpoints on the REST surface (compat.md 3.4). They check requests, shape answers and make the OpenAPI document. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { oneOf } from '../one-of.ts';

const RunMs = Type.Integer({ minimum: 5_000, maximum: 604_800_000, description: 'Longest run of a job in milliseconds. Default 600000.' });
const Env = Type.Record(Type.String(), Type.String(), { description: 'Environment of the workers, over the template\'s. An extension.' });
const Strings = (description: string) => Type.Array(Type.String({ maxLength: 191 }), { maxItems: 100, description });
const scalerType = oneOf(
  ['QUEUE_DELAY', 'REQUEST_COUNT'],
  'QUEUE_DELAY: a worker more for every scalerValue seconds of waiting. REQUEST_COUNT: a worker for every scalerValue jobs.',
);
const computeType = oneOf(['GPU', 'CPU'], 'CPU endpoints run on machines without a GPU.');
const endpointType = oneOf(['QB', 'LB'], 'Queue-based or load balancing. An extension; fixed after creation.');

/** Fields that create and update share; none is required here. */
const settings = {
  allowedCudaVersions: Type.Optional(Strings('CUDA versions a machine must support, any of them. Default: any.')),
  dataCenterIds: Type.Optional(Strings('Data centres or country codes a machine must carry, any of them. Default: anywhere.')),
  env: Type.Optional(Env),
  executionTimeoutMs: Type.Optional(RunMs),
  flashboot: Type.Optional(Type.Boolean({ description: 'Keep scaled-down workers frozen for a fast start. Default false.' })),
  gpuCount: Type.Optional(Type.Integer({ minimum: 1, maximum: 64, description: 'GPUs of a worker. Default 1.' })),
  gpuTypeIds: Type.Optional(Strings('GPU type names in order of preference. Empty: any machine.')),
  idleTimeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_600, description: 'Seconds a worker stays without a job. Default 5.' })),
  minCudaVersion: Type.Optional(Type.String({ maxLength: 16, description: 'Oldest CUDA version, when allowedCudaVersions is not given.' })),
  name: Type.Optional(Type.String({ maxLength: 191, description: 'Default: the name of the template.' })),
  networkVolumeId: Type.Optional(Type.String({ maxLength: 191, description: 'A network volume to mount; empty: none.' })),
  networkVolumeIds: Type.Optional(Strings('Several network volumes, one for a data centre.')),
  scalerType: Type.Optional(scalerType),
  scalerValue: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Target of the scaler. Default 4.' })),
  workersMax: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, description: 'Most workers at any time. Default 3.' })),
  workersMin: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, description: 'Fewest workers kept. Default 0.' })),
};

/** Body of POST /endpoints. */
export const EndpointCreateInput = Type.Object({
  ...settings,
  templateId: Type.String({ maxLength: 191, description: 'The template that its workers run.' }),
  computeType: Type.Optional(computeType),
  type: Type.Optional(endpointType),
}, { $id: 'EndpointCreateInput' });
export type EndpointCreateInput = Static<typeof EndpointCreateInput>;

/** Body of PATCH /endpoints/{endpointId}: what is left out stays as it is. */
export const EndpointUpdateInput = Type.Object({
  ...settings,
  templateId: Type.Optional(Type.String({ maxLength: 191, description: 'The template that its workers run.' })),
}, { $id: 'EndpointUpdateInput' });
export type EndpointUpdateInput = Static<typeof EndpointUpdateInput>;

/** An endpoint as it is answered. */
export const EndpointRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  templateId: Type.String(),
  template: Type.Optional(Type.Unsafe<object>({ $ref: 'Template#' })),
  userId: Type.String(),
  version: Type.Integer({ description: 'Grows with every change that replaces workers.' }),
  createdAt: Type.Optional(Type.String({ description: 'ISO 8601 in UTC with milliseconds.' })),
  type: endpointType,
  computeType,
  gpuTypeIds: Type.Array(Type.String()),
  gpuCount: Type.Integer(),
  allowedCudaVersions: Type.Array(Type.String()),
  dataCenterIds: Type.Array(Type.String()),
  env: Type.Record(Type.String(), Type.String()),
  executionTimeoutMs: Type.Integer(),
  flashboot: Type.Boolean(),
  idleTimeout: Type.Integer({ description: 'Seconds.' }),
  networkVolumeId: Type.Optional(Type.String()),
  networkVolumeIds: Type.Array(Type.String()),
  scalerType,
  scalerValue: Type.Integer(),
  workersMin: Type.Integer(),
  workersMax: Type.Integer(),
}, { $id: 'Endpoint' });
export type EndpointRecord = Static<typeof EndpointRecord>;

/** Path of one endpoint. */
export const EndpointPath = Type.Object({ endpointId: Type.String({ description: 'Id of the endpoint.' }) });

/** Query of the reads. */
export const EndpointQuery = Type.Object({
  includeTemplate: Type.Optional(oneOf(['true', 'false'], 'Add the template. Default false.')),
});
export type EndpointQuery = Static<typeof EndpointQuery>;
