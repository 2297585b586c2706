/**
 * PATCH /v1/endpoints/{endpointId} and POST …/update. Absent members stay unchanged
 * (docs/reference/management.md#endpoints).
 */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndpointRecord, EndpointUpdateInput } from '../../resources/endpoints/endpoint-schemas.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { changed, errors, idOf, ref } from '../rest-parts.ts';
import { endpointFields } from './endpoint-fields.ts';
import { EndpointPath } from './endpoint-query.ts';

/** Adds both routes. */
export function updateEndpoint(app: RestApp, { core, gate, readJson }: RestParts): void {
  for (const { method, url, operationId } of FORMS) {
    const schema = {
      operationId,
      tags: ['endpoints'],
      summary: 'Change an endpoint',
      params: EndpointPath,
      body: ref<EndpointUpdateInput>('EndpointUpdateInput'),
      response: { 200: changed<EndpointRecord>('Endpoint'), ...errors(404) },
    };
    app.route({
      method,
      url,
      schema,
      onRequest: gate,
      preValidation: readJson,
      handler: async (request) => {
        const { apiKey, accountId } = request.caller;
        const id = idOf(request.params.endpointId, 'endpoint');
        const options = { apiKey, repeatable: true };
        const { cpuFlavorIds, vcpuCount } = request.body;
        // Processors and flavours are one field of the contract. The absent one of the two keeps its value.
        const before =
          cpuFlavorIds === undefined && vcpuCount === undefined
            ? undefined
            : (await core.endpoints.call((client) => client.getEndpoint, { id }, options)).endpoint;
        const { changes, mask } = endpointFields(request.body, before);
        // An empty change is no error: the endpoint is returned unchanged.
        const update = { endpoint: Endpoint.fromPartial({ ...changes, id }), updateMask: mask };
        const { endpoint } =
          mask.length === 0
            ? await core.endpoints.call((client) => client.getEndpoint, { id }, options)
            : await core.endpoints.call((client) => client.updateEndpoint, update, options);
        return presentEndpoint(endpoint, accountId);
      },
    });
  }
}

const FORMS = [
  { method: 'PATCH', url: '/v1/endpoints/:endpointId', operationId: 'UpdateEndpoint' },
  { method: 'POST', url: '/v1/endpoints/:endpointId/update', operationId: 'UpdateEndpointByPost' },
] as const;
