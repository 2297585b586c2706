/** GET /v1/endpoints: a bare array, oldest first (compat.md 3.2). */
import { Type } from 'typebox';
import { EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentEndpoint } from './present-endpoint.ts';
import { errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';

/** Adds the route. */
export function listEndpoints(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'ListEndpoints', tags: ['endpoints'], summary: 'List endpoints',
    querystring: EndpointQuery, response: { 200: Type.Array(ref<EndpointRecord>('Endpoint')), ...errors() },
  };
  app.get('/v1/endpoints', { schema, onRequest: gate }, async (request) => {
    const { apiKey, accountId } = request.caller;
    const { endpoints } = await core.endpoints.call((client) => client.listEndpoints, {}, { apiKey, repeatable: true });
    if (request.query.includeTemplate !== 'true') return endpoints.map((endpoint) => presentEndpoint(endpoint, accountId));
    const { templates } = await core.templates.call((client) => client.listTemplates, {}, { apiKey, repeatable: true });
    const byId = new Map(templates.map((template) => [template.id, template]));
    return endpoints.map((endpoint) => presentEndpoint(endpoint, accountId, byId.get(endpoint.templateId)));
  });
}
