/**
 * Endpoints (docs/reference/management.md#endpoints): made and read. Verbs that carry a rule have files of their own.
 */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { creationCall } from '../../plugins/idempotency-key.ts';
import type { EndpointCreateInput, EndpointRecord } from '../../resources/endpoints/endpoint-schemas.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';
import { readQuery } from '../read-query.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { answer, changed, errors, idOf, ref } from '../rest-parts.ts';
import { endpointFields } from './endpoint-fields.ts';
import { EndpointPath, EndpointQuery } from './endpoint-query.ts';
import { workersOf } from './list-endpoints.ts';

/** POST /v1/endpoints (docs/reference/management.md#endpoints). */
export function createEndpoint(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateEndpoint',
    tags: ['endpoints'],
    summary: 'Create an endpoint',
    body: ref<EndpointCreateInput>('EndpointCreateInput'),
    response: { 200: changed<EndpointRecord>('Endpoint'), ...errors() },
  };
  app.post('/v1/endpoints', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const { requestId, options } = creationCall(request);
    const endpoint = Endpoint.fromPartial(endpointFields(request.body).changes);
    const response = await core.endpoints.call(
      (client) => client.createEndpoint,
      { endpoint, requestId, workersMax: request.body.workersMax, retryLimit: request.body.retryLimit },
      options,
    );
    return presentEndpoint(response.endpoint, request.caller.accountId);
  });
}

/**
 * GET /v1/endpoints/{endpointId}; `includeTemplate` and `includeWorkers` add to it
 * (docs/reference/management.md#lists).
 */
export function getEndpoint(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetEndpoint',
    tags: ['endpoints'],
    summary: 'Read an endpoint',
    params: EndpointPath,
    querystring: EndpointQuery,
    response: { 200: answer<EndpointRecord>('Endpoint'), ...errors(404) },
  };
  app.get(
    '/v1/endpoints/:endpointId',
    { schema, onRequest: gate, preValidation: readQuery(EndpointQuery) },
    async (request) => {
      const {
        caller: { apiKey, accountId },
        query: { includeTemplate = false, includeWorkers },
      } = request;
      const options = { apiKey, repeatable: true };
      const id = idOf(request.params.endpointId, 'endpoint');
      const { endpoint } = await core.endpoints.call((client) => client.getEndpoint, { id, includeTemplate }, options);
      const relations = includeWorkers ? (await workersOf(core, apiKey, [id]))(id) : {};
      return presentEndpoint(endpoint, accountId, relations);
    },
  );
}
