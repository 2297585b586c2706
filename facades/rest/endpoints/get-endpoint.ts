/** GET /v1/endpoints/{endpointId}; `includeTemplate` and `includeWorkers` add to it (compat.md 3.3). */
import { CoreError } from '../../../proto/wire/reason.ts';
import { readQuery } from '../read-query.ts';
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { EndpointPath, EndpointQuery } from './endpoint-schemas.ts';
import type { EndpointRecord } from './endpoint-schemas.ts';
import { presentEndpoint } from './present-endpoint.ts';

/** Adds the route. */
export function getEndpoint(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetEndpoint', tags: ['endpoints'], summary: 'Read an endpoint',
    params: EndpointPath, querystring: EndpointQuery, response: { 200: answer<EndpointRecord>('Endpoint'), ...errors(404) },
  };
  app.get('/v1/endpoints/:endpointId', { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) }, async (request) => {
    const { caller: { apiKey, accountId }, query: { includeTemplate, includeWorkers } } = request;
    const options = { apiKey, repeatable: true };
    const id = idOf(request.params.endpointId, 'endpoint');
    const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id }, options);
    const templateId = endpoint?.templateId ?? '';
    const [withTemplate, withWorkers] = await Promise.all([
      includeTemplate ? core.templates.call((client) => client.getTemplate, { id: templateId }, options).catch(noneWhenPrivate) : undefined,
      includeWorkers ? core.pods.call((client) => client.listPods, { includeWorkers: true, endpointId: id }, options) : undefined,
    ]);
    return presentEndpoint(endpoint, accountId, { template: withTemplate?.template, workers: withWorkers?.pods });
  });
}

/** The public template of another account that its owner shares no more: the endpoint still runs it, but cannot show it. */
function noneWhenPrivate(error: unknown): undefined {
  if (!(error instanceof CoreError) || error.reason !== 'TEMPLATE_NOT_FOUND') throw error;
}
