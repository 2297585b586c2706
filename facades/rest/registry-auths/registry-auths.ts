/**
 * Registry credentials (docs/reference/management.md#registry-credentials): made, listed, read, deleted. There is no
 * update on this surface.
 */
import { Type } from 'typebox';
import { creationCall } from '../../plugins/idempotency-key.ts';
import { presentRegistryAuth } from '../../resources/registry-auths/present-registry-auth.ts';
import type {
  RegistryAuthCreateInput,
  RegistryAuthRecord,
} from '../../resources/registry-auths/registry-auth-schemas.ts';
import { RegistryAuthPath } from '../../resources/registry-auths/registry-auth-schemas.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, answers, changed, errors, idOf, ref } from '../rest-parts.ts';
import { sendList } from '../send-list.ts';

/**
 * POST /v1/containerregistryauth (docs/reference/management.md#registry-credentials). There is no update on this
 * surface.
 */
export function createRegistryAuth(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateContainerRegistryAuth',
    tags: ['container registry auths'],
    summary: 'Store credentials for a container registry',
    body: ref<RegistryAuthCreateInput>('ContainerRegistryAuthCreateInput'),
    response: { 200: changed<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors() },
  };
  app.post('/v1/containerregistryauth', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const { name, username, password } = request.body;
    const { requestId, options } = creationCall(request);
    const response = await core.registryAuths.call(
      (client) => client.createRegistryAuth,
      { name, username, password, requestId },
      options,
    );
    return presentRegistryAuth(response.registryAuth);
  });
}

/** GET /v1/containerregistryauth: a bare array, oldest first (docs/reference/management.md#lists). */
export function listRegistryAuths(app: RestApp, { core, budget, gate }: RestParts): void {
  const schema = {
    operationId: 'ListContainerRegistryAuths',
    tags: ['container registry auths'],
    summary: 'List credentials for container registries',
    response: { 200: answers<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors() },
  };
  app.get('/v1/containerregistryauth', { schema, onRequest: gate }, (request, reply) =>
    sendList(budget, request, reply, {
      read: (page, options) => core.registryAuths.call((client) => client.listRegistryAuths, page, options),
      present: ({ registryAuths }) => registryAuths.map(presentRegistryAuth),
    }),
  );
}

/** GET /v1/containerregistryauth/{containerRegistryAuthId}: its name, never its secrets. */
export function getRegistryAuth(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetContainerRegistryAuth',
    tags: ['container registry auths'],
    summary: 'Read credentials for a container registry',
    params: RegistryAuthPath,
    response: { 200: answer<RegistryAuthRecord>('ContainerRegistryAuth'), ...errors(404) },
  };
  app.get('/v1/containerregistryauth/:containerRegistryAuthId', { schema, onRequest: gate }, async (request) => {
    const id = idOf(request.params.containerRegistryAuthId, 'container registry auth');
    const options = { apiKey: request.caller.apiKey, repeatable: true };
    const response = await core.registryAuths.call((client) => client.getRegistryAuth, { id }, options);
    return presentRegistryAuth(response.registryAuth);
  });
}

/** DELETE /v1/containerregistryauth/{containerRegistryAuthId}: 204; 400 while a template or a pod uses it. */
export function deleteRegistryAuth(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteContainerRegistryAuth',
    tags: ['container registry auths'],
    summary: 'Delete credentials for a container registry that nothing uses',
    params: RegistryAuthPath,
    response: { 204: Type.Null({ description: 'It was deleted.' }), ...errors(404) },
  };
  app.delete(
    '/v1/containerregistryauth/:containerRegistryAuthId',
    { schema, onRequest: gate },
    async (request, reply) => {
      const id = idOf(request.params.containerRegistryAuthId, 'container registry auth');
      await core.registryAuths.call(
        (client) => client.deleteRegistryAuth,
        { id },
        { apiKey: request.caller.apiKey, repeatable: false },
      );
      return reply.code(204).send(null);
    },
  );
}
