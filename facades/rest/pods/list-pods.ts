/** GET /v1/pods: a bare array, oldest first (docs/management.md#lists). */
import { readQuery } from '../read-query.ts';
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { podRelations } from './pod-relations.ts';
import { fits, PodsQuery } from './pod-query.ts';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';
import { sendList } from '../send-list.ts';

/** Adds the route. */
export function listPods(app: RestApp, { core, room, gate }: RestParts): void {
  const schema = {
    operationId: 'ListPods', tags: ['pods'], summary: 'List pods',
    querystring: PodsQuery, response: { 200: answers<PodRecord>('Pod'), ...errors(404) },
  };
  app.get('/v1/pods', { schema, onRequest: gate, preValidation: readQuery(PodsQuery) }, (request, reply) => {
    const { caller: { apiKey, accountId }, query } = request;
    const which = { includeWorkers: query.includeWorkers === true, endpointId: query.endpointId ?? '', endpointIds: [] };
    return sendList(room, request, reply, {
      read: (page) => core.pods.call((client) => client.listPods, { ...which, ...page }, { apiKey, repeatable: true }),
      present: async (response) => {
        const pods = response.pods.filter((pod) => fits(pod, query));
        const relationsOf = await podRelations(core, apiKey, query, pods);
        return pods.map((pod) => presentPod(pod, accountId, relationsOf(pod)));
      },
    });
  });
}
