/** POST /v1/containerregistryauth (docs/management.md#registry-credentials). There is no update on this surface. */
import { changed, errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentRegistryAuth } from '../../resources/registry-auths/present-registry-auth.ts';
import type { RegistryAuthCreateInput, RegistryAuthRecord } from '../../resources/registry-auths/registry-auth-schemas.ts';

/** Adds the route. */
export function createRegistryAuth(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateContainerRegistryAuth', tags: ['container registry auths'], summary: 'Store credentials for a container registry',
    body: ref<RegistryAuthCreateInput>('ContainerRegistryAuthCreateInput'),
    response: { 200: changed<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors() },
  };
  app.post('/v1/containerregistryauth', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const { name, username, password } = request.body;
    const options = { apiKey: request.caller.apiKey, repeatable: false };
    const response = await core.registryAuths.call((client) => client.createRegistryAuth, { name, username, password }, options);
    return presentRegistryAuth(response.registryAuth);
  });
}
