/** Shapes of pods in REST v2. */

import type { Static } from 'typebox';
import { Type } from 'typebox';
import { POD } from '../../resources/pods/pod-table.ts';
import { containerAnswer, containerBody } from '../container/container-part.ts';
import { mounts } from '../container/mounts.ts';
import { closed, moment, momentOrNull, named, textOrNull, word } from '../schema-parts.ts';
import { createCpu } from '../serverless/endpoint-shapes.ts';
import { alwaysIs } from '../without-effect.ts';

const ID_LENGTH_MAX = 191;
const CUDA_VERSION = '^\\d+\\.\\d+$';
const LIST_LENGTH_MAX = 100;
/** Effect of startSsh. */
export const SSH = 'true gives the SSH keys of the account as PUBLIC_KEY: images that have SSH start it then.';
/** Effect of startJupyter. */
export const JUPYTER = 'true gives a JUPYTER_PASSWORD, unless env has one: images that have Jupyter start it then.';
const AS_TEMPLATE = 'Default: as templateId says';
const HOST = 'of the machine for each GPU; the pod may use all that its machine has.';
const NETWORK = 'pods of several machines share no network.';
/** All states of a pod in responses. */
export const STATUSES = ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'] as const;
/** Actions on pods. */
export const ACTIONS = ['start', 'stop', 'restart', 'terminate'] as const;

const name = Type.String({ minLength: 1, maxLength: POD.name.kind.max, description: 'Name, for people.' });
const templateId = Type.String({
  maxLength: ID_LENGTH_MAX,
  description: 'Id of a template, whose settings apply where the body has none.',
});
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const leastPerGpu = (description: string) => Type.Optional(Type.Integer({ minimum: 0, maximum: 65_536, description }));

const createGpu = named(
  'CreatePodGpuConfig',
  closed({
    id: Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'A GPU type or a pool.' }),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: POD.gpuCount.rule.max, default: 1, description: 'Number of GPUs.' }),
    ),
    allowedCudaVersions: Type.Optional(
      Type.Array(Type.String({ pattern: CUDA_VERSION, maxLength: 7 }), { maxItems: LIST_LENGTH_MAX }),
    ),
    minCudaVersion: Type.Optional(
      Type.String({ pattern: CUDA_VERSION, maxLength: 7, description: 'This version or a newer one.' }),
    ),
    minRamPerGpu: leastPerGpu(`Least memory in GB ${HOST}`),
    minVcpuCountPerGpu: leastPerGpu(`Least processors ${HOST}`),
  }),
);

/** Body that creates one. */
export const CreatePod = named(
  'CreatePodRequest',
  closed(
    {
      ...containerBody,
      name,
      gpu: Type.Optional(createGpu),
      cpu: Type.Optional(createCpu),
      mounts: Type.Optional(mounts),
      cloud: Type.Optional(
        Type.Unsafe<'SECURE' | 'COMMUNITY'>({
          ...word(['SECURE', 'COMMUNITY']),
          ...alwaysIs('SECURE', 'there is one cloud, your machines.'),
        }),
      ),
      dataCenterIds: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX }), {
          maxItems: LIST_LENGTH_MAX,
          description: 'Data centres. The machine is in one of them. Empty: anywhere.',
        }),
      ),
      startSsh: flag(`SSH: ${SSH} ${AS_TEMPLATE}, else true.`),
      startJupyter: flag(`Jupyter: ${JUPYTER} ${AS_TEMPLATE}, else false.`),
      globalNetworking: Type.Optional(Type.Boolean(alwaysIs(false, NETWORK))),
      templateId: Type.Optional(Type.String({ ...templateId, minLength: 1 })),
    },
    { examples: [{ name: 'notebook', image: 'notebook:1', cpu: { id: 'cpu3c', vcpuCount: 2 } }] },
  ),
);
export type CreatePodBody = Static<typeof CreatePod>;

/**
 * Body that changes a pod. Absent members stay unchanged. Any change other than of name and locked restarts the pod.
 */
export const UpdatePod = named(
  'UpdatePodRequest',
  closed({
    ...containerBody,
    name: Type.Optional(name),
    mounts: Type.Optional(mounts),
    locked: flag('True: the pod cannot be stopped, reset or changed until it is unlocked.'),
    globalNetworking: Type.Optional(Type.Boolean(alwaysIs(false, NETWORK))),
    templateId: Type.Optional(templateId),
  }),
);
export type UpdatePodBody = Static<typeof UpdatePod>;

/** Body that does something to one. */
export const PodActionRequest = named('PodActionRequest', closed({ action: word(ACTIONS, 'What to do.') }));

const share = (description: string) => Type.Object({ util: Type.Optional(Type.Integer()) }, { description });

const SshEndpoint = Type.Object({
  host: Type.String(),
  port: Type.Integer(),
  username: Type.String(),
  command: Type.String(),
});

/** A pod in responses. */
export const PodShape = named(
  'Pod',
  Type.Object({
    id: Type.String(),
    name,
    ...containerAnswer,
    status: word(STATUSES, 'State of the pod, as its machine last reported it.'),
    actions: Type.Array(word(ACTIONS), { description: 'Actions that are possible now.' }),
    mounts,
    gpu: Type.Optional(
      Type.Object(
        {
          id: Type.String(),
          count: Type.Integer(),
          vcpuCount: Type.Integer({ description: 'Processors of its machine. 0: unknown.' }),
          memory: Type.Integer({ description: 'Memory of its machine in GB. 0: unknown.' }),
        },
        { description: 'GPUs of the pod. Absent without a GPU.' },
      ),
    ),
    cpu: Type.Optional(
      Type.Object(
        { id: Type.String(), vcpuCount: Type.Integer(), memory: Type.Integer() },
        { description: 'Size of a pod without a GPU. Absent without a size.' },
      ),
    ),
    cloud: word(['SECURE', 'COMMUNITY']),
    dataCenterId: textOrNull('Data centre of its machine. Null: none.'),
    cudaVersion: textOrNull('Newest CUDA version that the driver of its machine supports.'),
    ssh: Type.Object(
      { proxy: Type.Null(), direct: Type.Unsafe<object | null>({ anyOf: [SshEndpoint, { type: 'null' }] }) },
      { description: 'Direct: null unless its machine publishes port 22: docs/reference/api.md#ports-of-pods.' },
    ),
    template: textOrNull('Id of the template that it was created from.'),
    cost: Type.Number({ description: "US dollars an hour, by the operator's price table." }),
    locked: Type.Boolean(),
    globalNetworking: Type.Object({ enabled: Type.Boolean() }),
    runtime: Type.Unsafe<object | null>({
      anyOf: [
        Type.Object({
          uptime: Type.Integer({ description: 'Seconds since it was started.' }),
          gpus: Type.Array(Type.Object({})),
          cpu: share('Not measured.'),
          memory: share('Not measured.'),
          ports: Type.Array(
            Type.Object({
              private: Type.Integer(),
              public: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
              type: Type.String(),
              ip: textOrNull('Host name or address at which the public port is reached. Null: it is not published.'),
            }),
          ),
        }),
        { type: 'null' },
      ],
      description: 'Null: the pod does not run.',
    }),
    createdAt: moment('When it was created.'),
    startedAt: momentOrNull('When it was last started.'),
  }),
);
