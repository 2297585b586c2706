/**
 * PATCH /v1/endpoints/{endpointId} and POST …/update. Absent members stay unchanged
 * (docs/reference/management.md#endpoints).
 */
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { EndpointRecord, EndpointUpdateInput } from '../../resources/endpoints/endpoint-schemas.ts';
import { presentEndpoint } from '../../resources/endpoints/present-endpoint.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { updateRoutes } from '../update-routes.ts';
import { endpointFields } from './endpoint-fields.ts';
import { EndpointPath } from './endpoint-query.ts';

/** Adds both routes. */
export function updateEndpoint(app: RestApp, parts: RestParts): void {
  const { endpoints } = parts.core;
  updateRoutes<EndpointUpdateInput, EndpointRecord>(app, parts, {
    shape: 'Endpoint',
    thing: 'endpoint',
    collection: '/v1/endpoints',
    idName: 'endpointId',
    params: EndpointPath,
    update: async (id, input, { apiKey, accountId }) => {
      const options = { apiKey, repeatable: true };
      const { cpuFlavorIds, vcpuCount } = input;
      // Processors and flavours are one field of the contract. The absent one of the two keeps its value.
      const before =
        cpuFlavorIds === undefined && vcpuCount === undefined
          ? undefined
          : (await endpoints.call((client) => client.getEndpoint, { id }, options)).endpoint;
      const { changes, mask } = endpointFields(input, before);
      const update = { endpoint: Endpoint.fromPartial({ ...changes, id }), updateMask: mask };
      const { endpoint } =
        mask.length === 0
          ? await endpoints.call((client) => client.getEndpoint, { id }, options)
          : await endpoints.call((client) => client.updateEndpoint, update, options);
      return presentEndpoint(endpoint, accountId);
    },
  });
}
