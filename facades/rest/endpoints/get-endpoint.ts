/** GET /v1/endpoints/{endpointId}; `includeTemplate=true` adds its template (compat.md 3.3). */
import { EndpointPath, EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentEndpoint } from './present-endpoint.ts';
import { errors, idOf, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';

/** Adds the route. */
export function getEndpoint(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetEndpoint', tags: ['endpoints'], summary: 'Read an endpoint',
    params: EndpointPath, querystring: EndpointQuery, response: { 200: ref<EndpointRecord>('Endpoint'), ...errors(404) },
  };
  app.get('/v1/endpoints/:endpointId', { schema, onRequest: gate }, async (request) => {
    const { apiKey, accountId } = request.caller;
    const id = idOf(request.params.endpointId, 'ENDPOINT_NOT_FOUND');
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id }, { apiKey, repeatable: true });
    if (request.query.includeTemplate !== 'true' || endpoint === undefined) return presentEndpoint(endpoint, accountId);
    const found = await core.templates.call((client) => client.getTemplate, { id: endpoint.templateId }, { apiKey, repeatable: true });
    return presentEndpoint(endpoint, accountId, found.template);
  });
}
