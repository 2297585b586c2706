/** Pods in REST v2. Workers of endpoints are none here: see serverless/workers.ts. */

import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { conflict } from '../rejections.ts';
import { named } from '../schema-parts.ts';
import { CreatePod, PodActionRequest, PodShape, UpdatePod } from './pod-shapes.ts';
import type { PodAction } from './pod-values.ts';
import { actionsOf, changedPod, hostMinimum, newPod, presentPod, statusOf } from './pod-values.ts';

const ONE = '/v2/pods/{podId}';
const TAG = { tag: 'pods' };

/** The operations. */
export const podOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListPods',
    method: 'GET',
    path: '/v2/pods',
    summary: 'List pods, the newest first',
    query: Type.Object({
      includeClusterPods: Type.Optional(
        Type.Boolean({ description: 'Accepted without effect: there are no clusters.' }),
      ),
      ...PageQuery.properties,
    }),
    status: 200,
    answer: named('ListPodsResponse', listOf('pods', PodShape, 'Newest first.')),
    handle: (call, { core, clock }) =>
      answerPage(call, 'ListPods', 'pods', {
        read: (page) =>
          core.pods.call(
            (client) => client.listPods,
            { includeWorkers: false, endpointId: '', endpointIds: [], ...page },
            repeatable(call),
          ),
        present: ({ pods }) => pods.map((pod) => presentPod(pod, clock.nowMs())),
      }),
  }),
  operation({
    ...TAG,
    id: 'CreatePod',
    method: 'POST',
    path: '/v2/pods',
    summary: 'Create a pod and start it',
    body: CreatePod,
    status: 201,
    answer: PodShape,
    errors: [404],
    creates: true,
    handle: async (call, { core, clock }) => {
      const { requestId, options } = creation(call);
      const { mounts, templateId, startSsh, startJupyter } = call.body;
      const pod = Pod.fromPartial(newPod(call.body));
      // A template provides its volume if the body does not set mounts.
      const volumeGb = mounts === undefined && templateId !== undefined ? undefined : pod.volumeGb;
      const { pod: made } = await core.pods
        .call(
          (client) => client.createPod,
          { pod, volumeGb, requestId, startSsh, startJupyter, ...hostMinimum(call.body) },
          options,
        )
        .catch(unknownTemplate);
      return presentPod(made!, clock.nowMs());
    },
  }),
  operation({
    ...TAG,
    id: 'GetPod',
    method: 'GET',
    path: ONE,
    summary: 'Read a pod',
    status: 200,
    answer: PodShape,
    handle: async (call, parts) => presentPod(await read(call, parts), parts.clock.nowMs()),
  }),
  operation({
    ...TAG,
    id: 'UpdatePod',
    method: 'PATCH',
    path: ONE,
    summary: 'Change a pod (any change but of name and locked restarts it)',
    body: UpdatePod,
    status: 200,
    answer: PodShape,
    errors: [409],
    handle: async (call, parts) => {
      const before = await read(call, parts);
      const { changes, mask } = changedPod(call.body);
      if (mask.length === 0) return presentPod(before, parts.clock.nowMs());
      const update = { pod: Pod.fromPartial({ ...changes, id: before.id }), updateMask: mask };
      const { pod } = await parts.core.pods.call((client) => client.updatePod, update, once(call)).catch(locked);
      return presentPod(pod!, parts.clock.nowMs());
    },
  }),
  operation({
    ...TAG,
    id: 'DeletePod',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a pod with its files',
    status: 204,
    errors: [409],
    handle: async (call, parts) => remove(call, parts, await read(call, parts)),
  }),
  operation({
    ...TAG,
    id: 'ActOnPod',
    method: 'POST',
    path: `${ONE}/action`,
    summary: 'Start, stop, restart or delete a pod',
    body: PodActionRequest,
    status: 200,
    answer: PodShape,
    mayAnswer204: true,
    errors: [409],
    handle: async (call, parts) => {
      const { action } = call.body;
      const before = await read(call, parts);
      const allowed = actionsOf(before);
      if (!allowed.includes(action)) {
        const why = before.locked ? 'locked' : statusOf(before);
        throw conflict(
          `The pod is ${why}: "${action}" is not possible now. Possible: ${allowed.join(', ') || 'nothing'}.`,
        );
      }
      return action === 'terminate' ? remove(call, parts, before) : act(call, parts, before.id, action);
    },
  }),
];

/** Reads a pod. Throws NOT_FOUND if there is none, or if it is a worker. */
async function read(call: Call<object, unknown>, { core }: RestV2Parts): Promise<Pod> {
  const { pod } = await core.pods.call((client) => client.getPod, { id: call.path['podId']! }, repeatable(call));
  if (!pod || pod.endpointId !== '') throw new CoreError('NOT_FOUND', 'There is no such pod.');
  return pod;
}

async function remove(call: Call<object, unknown>, { core }: RestV2Parts, { id }: Pod): Promise<undefined> {
  await core.pods.call((client) => client.deletePod, { id }, once(call)).catch(locked);
}

async function act(
  call: Call<object, unknown>,
  { core, clock }: RestV2Parts,
  id: string,
  action: Exclude<PodAction, 'terminate'>,
): Promise<object> {
  const acts = {
    start: () => core.pods.call((client) => client.startPod, { id }, repeatable(call)),
    stop: () => core.pods.call((client) => client.stopPod, { id }, repeatable(call)),
    restart: () => core.pods.call((client) => client.restartPod, { id }, once(call)),
  };
  const { pod } = await acts[action]().catch(locked);
  return presentPod(pod!, clock.nowMs());
}

/** Turns an action that the pod's state forbids into a conflict. */
function locked(error: unknown): never {
  throw error instanceof CoreError && error.reason === 'POD_FIXED' ? conflict(error.message) : error;
}

/** Throws 404 for an unknown template, whichever member names it. */
function unknownTemplate(error: unknown): never {
  const isUnknown =
    error instanceof CoreError &&
    error.reason === 'INVALID_REQUEST' &&
    error.message.startsWith('template_id: there is no template');
  throw isUnknown ? new CoreError('TEMPLATE_NOT_FOUND', error.message) : error;
}
