/** GET /v1/endpoints/{endpointId}; `includeTemplate` and `includeWorkers` add to it (docs/management.md#lists). */
import { readQuery } from '../read-query.ts';
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { EndpointPath, EndpointQuery } from './endpoint-query.ts';
import type { EndpointRecord } from '../../resources/endpoints/endpoint-schemas.ts';
import { workersOf } from './list-endpoints.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';

/** Adds the route. */
export function getEndpoint(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetEndpoint', tags: ['endpoints'], summary: 'Read an endpoint',
    params: EndpointPath, querystring: EndpointQuery, response: { 200: answer<EndpointRecord>('Endpoint'), ...errors(404) },
  };
  app.get('/v1/endpoints/:endpointId', { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) }, async (request) => {
    const { caller: { apiKey, accountId }, query: { includeTemplate = false, includeWorkers } } = request;
    const options = { apiKey, repeatable: true };
    const id = idOf(request.params.endpointId, 'endpoint');
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id, includeTemplate }, options);
    const relations = includeWorkers ? (await workersOf(core, apiKey, [id]))(id) : {};
    return presentEndpoint(endpoint, accountId, relations);
  });
}
