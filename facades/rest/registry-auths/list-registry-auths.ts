/** GET /v1/containerregistryauth: a bare array, oldest first (docs/management.md#lists). */
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentRegistryAuth } from '../../resources/registry-auths/present-registry-auth.ts';
import { sendList } from '../send-list.ts';
import type { RegistryAuthRecord } from '../../resources/registry-auths/registry-auth-schemas.ts';

/** Adds the route. */
export function listRegistryAuths(app: RestApp, { core, room, gate }: RestParts): void {
  const schema = {
    operationId: 'ListContainerRegistryAuths', tags: ['container registry auths'], summary: 'List credentials for container registries',
    response: { 200: answers<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors() },
  };
  app.get('/v1/containerregistryauth', { schema, onRequest: gate }, (request, reply) => sendList(room, request, reply, {
    read: (page) => core.registryAuths.call((client) => client.listRegistryAuths, page, { apiKey: request.caller.apiKey, repeatable: true }),
    present: ({ registryAuths }) => registryAuths.map(presentRegistryAuth),
  }));
}
