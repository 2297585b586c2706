/** GET /v1/endpoints: a bare array, oldest first (compat.md 3.2). */
import { readQuery } from '../read-query.ts';
import { answers, errors } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentEndpoint } from './present-endpoint.ts';

/** Adds the route. */
export function listEndpoints(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'ListEndpoints', tags: ['endpoints'], summary: 'List endpoints',
    querystring: EndpointQuery, response: { 200: answers<EndpointRecord>('Endpoint'), ...errors() },
  };
  app.get('/v1/endpoints', { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) }, async (request) => {
    const { caller: { apiKey, accountId }, query: { includeTemplate, includeWorkers } } = request;
    const options = { apiKey, repeatable: true };
    const [{ endpoints }, listed, running] = await Promise.all([
      core.endpoints.call((client) => client.listEndpoints, {}, options),
      includeTemplate ? core.templates.call((client) => client.listTemplates, { includePublic: true }, options) : undefined,
      includeWorkers ? core.pods.call((client) => client.listPods, { includeWorkers: true, endpointId: '' }, options) : undefined,
    ]);
    const templates = new Map(listed?.templates.map((template) => [template.id, template]));
    const workers = running && Map.groupBy(running.pods, (pod) => pod.endpointId);
    return endpoints.map((endpoint) => presentEndpoint(endpoint, accountId, {
      template: templates.get(endpoint.templateId), workers: workers && (workers.get(endpoint.id) ?? []),
    }));
  });
}
