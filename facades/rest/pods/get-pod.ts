/** GET /v1/pods/{podId}, also of a worker. */
import { readQuery } from '../read-query.ts';
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { podRelations } from './pod-relations.ts';
import { PodQuery } from './pod-query.ts';
import { PodPath } from './pod-query.ts';
import type { PodRecord } from '../../resources/pods/pod-record.ts';
import { presentPod } from '../../resources/pods/present-pod.ts';

/** Adds the route. */
export function getPod(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetPod', tags: ['pods'], summary: 'Read a pod',
    params: PodPath, querystring: PodQuery, response: { 200: answer<PodRecord>('Pod'), ...errors(404) },
  };
  app.get('/v1/pods/:podId', { schema, onRequest: gate, preValidation: readQuery(PodQuery) }, async (request) => {
    const { apiKey, accountId } = request.caller;
    const id = idOf(request.params.podId, 'pod');
    const { pod } = await core.pods.call((client) => client.getPod, { id }, { apiKey, repeatable: true });
    const relationsOf = await podRelations(core, apiKey, request.query, pod ? [pod] : []);
    return presentPod(pod, accountId, pod && relationsOf(pod));
  });
}
