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
/** Why startSsh has no effect. */
export const SSH = 'pods find the SSH keys of the account in PUBLIC_KEY, which is what images that have SSH look for.';
const ALL = 'a pod with GPUs may use the memory and the processors of its machine.';
const NETWORK = 'pods of several machines share no network.';
/** All states of a pod in responses. */
export const STATUSES = ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'] as const;
/** Actions on pods. */
export const ACTIONS = ['start', 'stop', 'restart', 'terminate'] as const;

const name = Type.String({ minLength: 1, maxLength: POD.name.kind.max, description: 'For people.' });
const templateId = Type.String({ maxLength: ID_LENGTH_MAX, description: 'Gives what the body does not.' });
const flag = (description: string) => Type.Optional(Type.Boolean({ description }));

const createGpu = named(
  'CreatePodGpuConfig',
  closed({
    id: Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX, description: 'One GPU type, or a pool.' }),
    count: Type.Optional(
      Type.Integer({ minimum: 1, maximum: POD.gpuCount.rule.max, default: 1, description: 'GPUs that it gets.' }),
    ),
    allowedCudaVersions: Type.Optional(
      Type.Array(Type.String({ pattern: CUDA_VERSION, maxLength: 7 }), { maxItems: LIST_LENGTH_MAX }),
    ),
    minCudaVersion: Type.Optional(
      Type.String({ pattern: CUDA_VERSION, maxLength: 7, description: 'This version or a newer one.' }),
    ),
    minRamPerGpu: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_536, ...alwaysIs(0, ALL) })),
    minVcpuCountPerGpu: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_536, ...alwaysIs(0, ALL) })),
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
          description: 'Data centres, any of them. Empty: anywhere.',
        }),
      ),
      startSsh: Type.Optional(Type.Boolean(alwaysIs(true, SSH))),
      startJupyter: flag('Give it a JUPYTER_PASSWORD, unless env has one: images that have Jupyter start it then.'),
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
    locked: flag('Refuse to stop, reset or change it until it is unlocked.'),
    globalNetworking: Type.Optional(Type.Boolean(alwaysIs(false, NETWORK))),
    templateId: Type.Optional(templateId),
  }),
);
export type UpdatePodBody = Static<typeof UpdatePod>;

/** Body that does something to one. */
export const PodActionRequest = named('PodActionRequest', closed({ action: word(ACTIONS, 'What to do.') }));

const share = (description: string) => Type.Object({ util: Type.Optional(Type.Integer()) }, { description });

/** A pod in responses. */
export const PodShape = named(
  'Pod',
  Type.Object({
    id: Type.String(),
    name,
    ...containerAnswer,
    status: word(STATUSES, 'What it does, as it was seen last.'),
    actions: Type.Array(word(ACTIONS), { description: 'What can be done to it now.' }),
    mounts,
    gpu: Type.Optional(
      Type.Object(
        {
          id: Type.String(),
          count: Type.Integer(),
          vcpuCount: Type.Integer({ description: 'Of its machine. 0: not known.' }),
          memory: Type.Integer({ description: 'GB of its machine. 0: not known.' }),
        },
        { description: 'Missing without a GPU.' },
      ),
    ),
    cpu: Type.Optional(
      Type.Object(
        { id: Type.String(), vcpuCount: Type.Integer(), memory: Type.Integer() },
        { description: 'Its size, where it has one.' },
      ),
    ),
    cloud: word(['SECURE', 'COMMUNITY']),
    dataCenterId: textOrNull('Null: its machine is in none.'),
    cudaVersion: textOrNull("Of its machine's driver."),
    ssh: Type.Object(
      { proxy: Type.Null(), direct: Type.Null() },
      { description: 'Ports are reached by the service: docs/reference/api.md#ports-of-pods.' },
    ),
    template: textOrNull('Template that gave what its body did not.'),
    cost: Type.Number({ description: "US dollars an hour, by the operator's price table." }),
    locked: Type.Boolean(),
    globalNetworking: Type.Object({ enabled: Type.Boolean() }),
    runtime: Type.Unsafe<object | null>({
      anyOf: [
        Type.Object({
          uptime: Type.Integer({ description: 'Seconds.' }),
          gpus: Type.Array(Type.Object({})),
          cpu: share('Not measured.'),
          memory: share('Not measured.'),
          ports: Type.Array(
            Type.Object({
              private: Type.Integer(),
              public: Type.Unsafe<number | null>({ type: ['integer', 'null'] }),
              type: Type.String(),
              ip: textOrNull('Not published.'),
            }),
          ),
        }),
        { type: 'null' },
      ],
      description: 'Null: it does not run.',
    }),
    createdAt: moment('When it was made.'),
    startedAt: momentOrNull('When it was last told to run.'),
  }),
);
