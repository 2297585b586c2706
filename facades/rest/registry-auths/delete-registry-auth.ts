/** DELETE /v1/containerregistryauth/{containerRegistryAuthId}: 204; 400 while a template or a pod uses it. */
import { Type } from 'typebox';
import { errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { RegistryAuthPath } from '../../resources/registry-auths/registry-auth-schemas.ts';

/** Adds the route. */
export function deleteRegistryAuth(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteContainerRegistryAuth', tags: ['container registry auths'],
    summary: 'Delete credentials for a container registry that nothing uses',
    params: RegistryAuthPath, response: { 204: Type.Null({ description: 'Deleted.' }), ...errors(404) },
  };
  app.delete('/v1/containerregistryauth/:containerRegistryAuthId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.containerRegistryAuthId, 'container registry auth');
    await core.registryAuths.call((client) => client.deleteRegistryAuth, { id }, { apiKey: request.caller.apiKey, repeatable: false });
    return reply.code(204).send(null);
  });
}
