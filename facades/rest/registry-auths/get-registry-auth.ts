/** GET /v1/containerregistryauth/{containerRegistryAuthId}: its name, never its secrets. */
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentRegistryAuth } from '../../resources/registry-auths/present-registry-auth.ts';
import { RegistryAuthPath } from '../../resources/registry-auths/registry-auth-schemas.ts';
import type { RegistryAuthRecord } from '../../resources/registry-auths/registry-auth-schemas.ts';

/** Adds the route. */
export function getRegistryAuth(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetContainerRegistryAuth', tags: ['container registry auths'], summary: 'Read credentials for a container registry',
    params: RegistryAuthPath, response: { 200: answer<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors(404) },
  };
  app.get('/v1/containerregistryauth/:containerRegistryAuthId', { schema, onRequest: gate }, async (request) => {
    const id = idOf(request.params.containerRegistryAuthId, 'container registry auth');
    const options = { apiKey: request.caller.apiKey, repeatable: true };
    const response = await core.registryAuths.call((client) => client.getRegistryAuth, { id }, options);
    return presentRegistryAuth(response.registryAuth);
  });
}
