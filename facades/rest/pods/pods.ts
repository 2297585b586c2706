/**
 * Creates, lists, reads and deletes pods (docs/reference/management.md#pods). Changes: update-pod.ts; actions:
 * act-on-pod.ts.
 */

import { Pod } from '@slipway/proto/gen/slipway/v1/pod';
import { Type } from 'typebox';
import { creationCall } from '../../plugins/idempotency-key.ts';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, answers, changed, errors, idOf, ref } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';
import { hostMinimum, newPodFields } from './pod-fields.ts';
import type { PodCreateInput } from './pod-inputs.ts';
import { fits, PodPath, PodQuery, PodsQuery } from './pod-query.ts';
import { podRelations } from './pod-relations.ts';

/** POST /v1/pods: 201 (docs/reference/management.md#pods). */
export function createPod(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreatePod',
    tags: ['pods'],
    summary: 'Create a pod and start it',
    body: ref<PodCreateInput>('PodCreateInput'),
    response: { 201: changed<PodRecord>('Pod'), ...errors() },
  };
  app.post('/v1/pods', { schema, onRequest: gate, preValidation: readJson }, async (request, reply) => {
    const { requestId, options } = creationCall(request);
    const pod = Pod.fromPartial(newPodFields(request.body));
    const response = await core.pods.call(
      (client) => client.createPod,
      { pod, volumeGb: request.body.volumeInGb ?? undefined, requestId, ...hostMinimum(request.body) },
      options,
    );
    return reply.code(201).send(presentPod(response.pod, request.caller.accountId));
  });
}

/** GET /v1/pods: a bare array, oldest first (docs/reference/management.md#lists). */
export function listPods(app: RestApp, { core, budget, gate }: RestParts): void {
  const schema = {
    operationId: 'ListPods',
    tags: ['pods'],
    summary: 'List pods',
    querystring: PodsQuery,
    response: { 200: answers<PodRecord>('Pod'), ...errors(404) },
  };
  app.get('/v1/pods', { schema, onRequest: gate, preValidation: readQuery(PodsQuery) }, (request, reply) => {
    const {
      caller: { apiKey, accountId },
      query,
    } = request;
    const which = {
      includeWorkers: query.includeWorkers === true,
      endpointId: query.endpointId ?? '',
      endpointIds: [],
    };
    return sendList(budget, request, reply, {
      read: (page, options) => core.pods.call((client) => client.listPods, { ...which, ...page }, options),
      present: async (response) => {
        const pods = response.pods.filter((pod) => fits(pod, query));
        const relationsOf = await podRelations(core, apiKey, query, pods);
        return pods.map((pod) => presentPod(pod, accountId, relationsOf(pod)));
      },
    });
  });
}

/** GET /v1/pods/{podId}, also of a worker. */
export function getPod(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetPod',
    tags: ['pods'],
    summary: 'Read a pod',
    params: PodPath,
    querystring: PodQuery,
    response: { 200: answer<PodRecord>('Pod'), ...errors(404) },
  };
  app.get('/v1/pods/:podId', { schema, onRequest: gate, preValidation: readQuery(PodQuery) }, async (request) => {
    const { apiKey, accountId } = request.caller;
    const id = idOf(request.params.podId, 'pod');
    const { pod } = await core.pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true });
    const relationsOf = await podRelations(core, apiKey, request.query, pod ? [pod] : []);
    return presentPod(pod, accountId, pod && relationsOf(pod));
  });
}

/** DELETE /v1/pods/{podId}: 204. Its files go with it. */
export function deletePod(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeletePod',
    tags: ['pods'],
    summary: 'Delete a pod with its files',
    params: PodPath,
    response: { 204: Type.Null({ description: 'It was deleted.' }), ...errors(404) },
  };
  app.delete('/v1/pods/:podId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.podId, 'pod');
    await core.pods.call((client) => client.deletePod, { id }, { apiKey: request.caller.apiKey, repeatable: false });
    return reply.code(204).send(null);
  });
}
