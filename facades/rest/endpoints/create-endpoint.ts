/** POST /v1/endpoints (docs/management.md#endpoints). */
import { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import { endpointFields } from './endpoint-fields.ts';
import type { EndpointCreateInput, EndpointRecord } from '../../resources/endpoints/endpoint-schemas.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';
import { changed, errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';

/** Adds the route. */
export function createEndpoint(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateEndpoint', tags: ['endpoints'], summary: 'Create an endpoint',
    body: ref<EndpointCreateInput>('EndpointCreateInput'),
    response: { 200: changed<EndpointRecord>('Endpoint'), ...errors() },
  };
  app.post('/v1/endpoints', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const { apiKey, accountId } = request.caller;
    const endpoint = Endpoint.fromPartial(endpointFields(request.body).changes);
    // Not repeatable: without a request_id of the client a second try could make a second endpoint.
    const response = await core.endpoints.call(
      (client) => client.createEndpoint,
      { endpoint, requestId: '', workersMax: request.body.workersMax, retryLimit: undefined },
      { apiKey, repeatable: false },
    );
    return presentEndpoint(response.endpoint, accountId);
  });
}
