/** DELETE /v1/pods/{podId}: 204. Its files go with it. */
import { Type } from 'typebox';
import { errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { PodPath } from './pod-query.ts';

/** Adds the route. */
export function deletePod(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeletePod', tags: ['pods'], summary: 'Delete a pod with its files',
    params: PodPath, response: { 204: Type.Null({ description: 'Deleted.' }), ...errors(404) },
  };
  app.delete('/v1/pods/:podId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.podId, 'pod');
    await core.pods.call((client) => client.deletePod, { id }, { apiKey: request.caller.apiKey, repeatable: false });
    return reply.code(204).send(null);
  });
}
