/** Shapes of endpoints in REST v2. The bounds come from the settings table. */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { ENDPOINT } from '../../resources/endpoints/endpoint-table.ts';
import { MODEL_ALIAS, MODEL_ALIASES_MAX, MODEL_REFERENCE } from '../../resources/endpoints/model-fields.ts';
import { containerAnswer, containerBody, optionals } from '../container/container-part.ts';
import { closed, moment, named, textOrNull, word } from '../schema-parts.ts';

const NAME = { minLength: 1, maxLength: ENDPOINT.name.kind.max };
const ID_LENGTH_MAX = 191;
const LIST_LENGTH_MAX = 100;
const QUEUE_DELAY_MIN = 0.5;
const MODELS_MAX = 10;
const MODEL_LENGTH_MAX = 512;
const CUDA_VERSION = '^\\d+\\.\\d+$';
/** Defaults of REST v2, which differ from the other surfaces' defaults. */
export const WORKER_DEFAULTS = { min: 0, max: 3, idleTimeout: 10 };

const bounded = (
  { rule: { min, max } }: { rule: { min?: number; max?: number } },
  description: string,
  more: object = {},
) => Type.Integer({ minimum: min!, maximum: max!, description, ...more });
const ids = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX }), { maxItems: LIST_LENGTH_MAX, description });

const queueDelay = Type.Number({
  minimum: QUEUE_DELAY_MIN,
  maximum: ENDPOINT.scalerValue.rule.max,
  description: 'Seconds that a job may wait until another worker is started.',
});
const scalings = [
  closed({ type: word(['QUEUE_DELAY']), queueDelay }),
  closed({
    type: word(['REQUEST_COUNT']),
    requestCount: bounded(ENDPOINT.scalerValue, 'Jobs or requests for each worker.'),
  }),
  closed(
    { type: word(['SLO']), queueDelay: Type.Integer({ minimum: 1, maximum: ENDPOINT.scalerValue.rule.max }) },
    {
      description: 'Longest wait in seconds of 95 of 100 jobs. As few workers run as achieve that. An extension.',
    },
  ),
];
/** Metric that the number of workers follows. */
const scaling = named(
  'EndpointScaling',
  Type.Unsafe<{ type: 'QUEUE_DELAY' | 'SLO'; queueDelay: number } | { type: 'REQUEST_COUNT'; requestCount: number }>({
    type: 'object',
    oneOf: scalings,
    discriminator: { propertyName: 'type' },
    required: ['type'],
    description: 'How the number of workers is chosen.',
  }),
);

const workers = named(
  'EndpointWorkers',
  closed({
    min: Type.Optional(bounded(ENDPOINT.workersMin, 'Fewest workers.')),
    max: Type.Optional(bounded(ENDPOINT.workersMax, 'Most workers.')),
    idleTimeout: Type.Optional(
      bounded(
        ENDPOINT.idleTimeoutSeconds,
        'Seconds that a worker stays without a job. Cannot be set for QUEUE with REQUEST_COUNT.',
      ),
    ),
  }),
);

const gpuParts = {
  pools: Type.Optional(
    Type.Array(Type.String({ pattern: '^[^-\\s].*$', maxLength: ID_LENGTH_MAX }), {
      minItems: 1,
      maxItems: LIST_LENGTH_MAX,
      description: 'GPU pools in order of preference. A GPU type that is in no pool can be named itself.',
    }),
  ),
  excludedTypes: Type.Optional(
    Type.Array(Type.String({ pattern: '^\\s*[^-\\s].*$', maxLength: ID_LENGTH_MAX }), {
      maxItems: LIST_LENGTH_MAX,
      description: 'GPU types of these pools that are not used. pools alone clears this list.',
    }),
  ),
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: ENDPOINT.gpuCount.rule.max, description: 'GPUs of each worker.' }),
  ),
  allowedCudaVersions: Type.Optional(
    Type.Array(Type.String({ pattern: CUDA_VERSION, maxLength: 7 }), {
      maxItems: LIST_LENGTH_MAX,
      description: 'CUDA versions. The machine supports at least one of them.',
    }),
  ),
};
const createGpu = named(
  'CreateEndpointGpuConfig',
  closed({
    ...gpuParts,
    minCudaVersion: Type.Optional(
      Type.String({ pattern: CUDA_VERSION, maxLength: 7, description: 'This version or a newer one.' }),
    ),
  }),
);
const updateGpu = named(
  'UpdateEndpointGpuConfig',
  closed({
    ...gpuParts,
    minCudaVersion: Type.Optional(
      Type.String({
        pattern: `^$|${CUDA_VERSION}`,
        maxLength: 7,
        description: 'This version or a newer one; empty: any.',
      }),
    ),
  }),
);
export type GpuBody = Static<typeof updateGpu>;

/** Size of a worker without a GPU. */
export const createCpu = named(
  'CreateCpuConfig',
  closed({
    id: Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'CPU flavour, for instance cpu3c.' }),
    vcpuCount: Type.Integer({ minimum: 2, maximum: 1_024, description: 'Number of processors, a power of two.' }),
  }),
);
const cpuSizes = Type.Array(createCpu, {
  minItems: 1,
  maxItems: LIST_LENGTH_MAX,
  description: 'Sizes of workers without a GPU, in order of preference.',
});

const openai = named(
  'EndpointOpenai',
  closed(
    {
      aliases: Type.Optional(
        Type.Array(Type.String({ pattern: MODEL_ALIAS }), {
          maxItems: MODEL_ALIASES_MAX,
          description: 'Names by which OpenAI clients select it at /openai/v1.',
        }),
      ),
      weight: Type.Optional(
        bounded(ENDPOINT.modelWeight, 'Share of the requests for a name that several endpoints have. 0: a fallback.'),
      ),
      queueMax: Type.Optional(
        bounded(ENDPOINT.modelQueueMax, 'Requests that may wait before others with the name take more. 0: any number.'),
      ),
    },
    { description: 'Its place at the OpenAI address of the account. Members change one by one. An extension.' },
  ),
);

const settings = {
  scaling,
  workers,
  dataCenterIds: ids('Data centres. The machine is in one of them. Empty: anywhere.'),
  networkVolumes: ids('Network volumes to mount, one for each data centre.'),
  model: textOrNull(
    'Hugging Face model that workers find on their machine: org/name, org/name:revision, or an address of ' +
      'https://huggingface.co. Null: none. Of several the first one.',
    { pattern: MODEL_REFERENCE, maxLength: MODEL_LENGTH_MAX },
  ),
  models: Type.Array(Type.String({ pattern: MODEL_REFERENCE, maxLength: MODEL_LENGTH_MAX }), {
    maxItems: MODELS_MAX,
    description: 'The same for several models, in place of model. An extension.',
  }),
  timeout: Type.Integer({
    minimum: 0,
    maximum: ENDPOINT.executionTimeoutMs.rule.max,
    description:
      `Longest run of a job in milliseconds, at least ${ENDPOINT.executionTimeoutMs.rule.min}. 0: ` +
      `${ENDPOINT.executionTimeoutMs.rule.default}.`,
  }),
  flashboot: word(
    ['OFF', 'FLASHBOOT', 'PRIORITY_FLASHBOOT'],
    'Keep workers that scaling stops on standby, so that they start fast. FLASHBOOT and ' +
      'PRIORITY_FLASHBOOT mean the same here.',
  ),
  flashbootStandby: word(
    ['AUTO', 'GPU', 'HOST'],
    'Where workers on standby keep their GPU memory. AUTO: on the GPU until others need it, then in host memory. ' +
      'GPU: on the GPU; they stop when others need it. HOST: in host memory at once. An extension.',
  ),
  openai,
};
const templateId = Type.String({
  maxLength: ID_LENGTH_MAX,
  description:
    'A template whose settings are copied once, for members that the body does not have. Later ' +
    'changes of the template do not reach the endpoint.',
});
const type = word(['QUEUE', 'LOAD_BALANCER'], 'How requests reach the workers. Fixed after creation.');
const name = Type.String({ ...NAME, description: 'Name, for people.' });

/** Body that creates one. */
export const CreateEndpoint = named(
  'CreateEndpointRequest',
  closed(
    {
      ...containerBody,
      ...optionals(settings),
      name,
      type,
      scaling,
      gpu: Type.Optional(createGpu),
      cpu: Type.Optional(cpuSizes),
      templateId: Type.Optional(Type.String({ ...templateId, minLength: 1 })),
    },
    {
      examples: [
        {
          name: 'ocr',
          type: 'QUEUE',
          image: 'ocr:1',
          scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
          gpu: { pools: ['ADA_24'] },
        },
      ],
    },
  ),
);
export type CreateEndpointBody = Static<typeof CreateEndpoint>;

/** Body that changes an endpoint. Absent members stay unchanged. */
export const UpdateEndpoint = named(
  'UpdateEndpointRequest',
  closed({
    ...containerBody,
    ...optionals(settings),
    name: Type.Optional(name),
    gpu: Type.Optional(updateGpu),
    cpu: Type.Optional(cpuSizes),
    templateId: Type.Optional(templateId),
  }),
);
export type UpdateEndpointBody = Static<typeof UpdateEndpoint>;

const urls = (...names: string[]) => closed(Object.fromEntries(names.map((each) => [each, Type.String()])));

/** An endpoint in responses. */
export const EndpointShape = named(
  'Endpoint',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    ...containerAnswer,
    type,
    requestUrls: Type.Unsafe<Record<string, string>>({
      anyOf: [
        urls('run', 'runSync', 'status', 'stream', 'cancel', 'retry', 'purgeQueue', 'health'),
        urls('base', 'health'),
      ],
      description: 'Addresses of requests, relative to this service. {job_id} stands for the id of a job.',
    }),
    gpu: Type.Optional(
      named(
        'EndpointGpuConfig',
        Type.Object(
          {
            pools: Type.Array(Type.String()),
            excludedTypes: Type.Array(Type.String()),
            count: Type.Integer(),
            allowedCudaVersions: Type.Array(Type.String()),
            minCudaVersion: textOrNull('Oldest CUDA version of machines. Null: any, or one of allowedCudaVersions.'),
          },
          { description: 'GPUs of a worker. Absent for workers without a GPU.' },
        ),
      ),
    ),
    cpu: Type.Optional(
      Type.Array(
        named(
          'CpuConfig',
          Type.Object({
            id: Type.String(),
            vcpuCount: Type.Integer(),
            memory: Type.Integer({ description: 'Memory in GB.' }),
          }),
        ),
        { description: 'Sizes of workers without a GPU. Absent for workers with a GPU. Empty: no size.' },
      ),
    ),
    workers,
    scaling,
    dataCenterIds: settings.dataCenterIds,
    networkVolumes: settings.networkVolumes,
    model: settings.model,
    models: settings.models,
    timeout: Type.Integer({
      description: 'Longest run of a job in milliseconds, as it was given. 0: the default applies.',
    }),
    flashboot: settings.flashboot,
    flashbootStandby: settings.flashbootStandby,
    openai,
    createdAt: moment('When it was created.'),
  }),
);
