/** Endpoints in REST v2. */

import type { GpuPool } from '@slipway/proto/gen/slipway/v1/catalog_service';
import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import type { Call, Operation, RestV2Parts } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { misfit } from '../rejections.ts';
import { named } from '../schema-parts.ts';
import { CreateEndpoint, EndpointShape, UpdateEndpoint } from './endpoint-shapes.ts';
import { changedEndpoint, newEndpoint } from './endpoint-values.ts';
import { originOf, presentEndpoint } from './present-endpoint.ts';

const ONE = '/v2/serverless/{endpointId}';
const TAG = { tag: 'serverless' };

/** The operations. */
export const endpointOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListEndpoints',
    method: 'GET',
    path: '/v2/serverless',
    summary: 'List endpoints, the newest first',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListEndpointsResponse', listOf('endpoints', EndpointShape, 'Newest first.')),
    handle: async (call, parts) => {
      const pools = await poolsOf(call, parts);
      return answerPage(call, 'ListEndpoints', 'endpoints', {
        read: (page) =>
          parts.core.endpoints.call(
            (client) => client.listEndpoints,
            { includeTemplate: true, ...page },
            repeatable(call),
          ),
        present: ({ endpoints }) =>
          endpoints.map((endpoint) => presentEndpoint(endpoint, originOf(call.request), pools)),
      });
    },
  }),
  operation({
    ...TAG,
    id: 'CreateEndpoint',
    method: 'POST',
    path: '/v2/serverless',
    summary: 'Create an endpoint',
    body: CreateEndpoint,
    status: 201,
    answer: EndpointShape,
    errors: [404],
    creates: true,
    handle: async (call, parts) => {
      const { requestId, options } = creation(call);
      const { changes, ownTemplate } = newEndpoint(call.body, await poolsOf(call, parts));
      const request = {
        endpoint: Endpoint.fromPartial(changes),
        requestId,
        workersMax: changes.workersMax,
        retryLimit: undefined,
        ownTemplate,
      };
      const { endpoint } = await parts.core.endpoints
        .call((client) => client.createEndpoint, request, options)
        .catch(forPods);
      return read(call, parts, endpoint!.id);
    },
  }),
  operation({
    ...TAG,
    id: 'GetEndpoint',
    method: 'GET',
    path: ONE,
    summary: 'Read an endpoint',
    status: 200,
    answer: EndpointShape,
    handle: (call, parts) => read(call, parts, call.path['endpointId']!),
  }),
  operation({
    ...TAG,
    id: 'UpdateEndpoint',
    method: 'PATCH',
    path: ONE,
    summary: 'Change an endpoint (members that are left out stay as they are)',
    body: UpdateEndpoint,
    status: 200,
    answer: EndpointShape,
    handle: async (call, parts) => {
      const id = call.path['endpointId']!;
      const { endpoint: before } = await parts.core.endpoints.call(
        (client) => client.getEndpoint,
        { id },
        repeatable(call),
      );
      const { changes, mask, ownTemplate } = changedEndpoint(call.body, before!, await poolsOf(call, parts));
      // An empty change is no error: the endpoint is returned unchanged.
      if (mask.length > 0 || ownTemplate) {
        const update = { endpoint: Endpoint.fromPartial({ ...changes, id }), updateMask: mask, ownTemplate };
        await parts.core.endpoints.call((client) => client.updateEndpoint, update, repeatable(call)).catch(forPods);
      }
      return read(call, parts, id);
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteEndpoint',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete an endpoint, stop its workers and end its jobs',
    status: 204,
    handle: async (call, { core }) => {
      await core.endpoints.call(
        (client) => client.deleteEndpoint,
        { id: call.path['endpointId']!, stopWorkers: true },
        once(call),
      );
    },
  }),
];

async function read(call: Call<object, unknown>, parts: RestV2Parts, id: string): Promise<object> {
  const [{ endpoint }, pools] = await Promise.all([
    parts.core.endpoints.call((client) => client.getEndpoint, { id, includeTemplate: true }, repeatable(call)),
    poolsOf(call, parts),
  ]);
  return presentEndpoint(endpoint, originOf(call.request), pools);
}

async function poolsOf(call: Pick<Call, 'apiKey'>, { core }: RestV2Parts): Promise<readonly GpuPool[]> {
  return (await core.catalog.call((client) => client.listGpuPools, {}, repeatable(call))).gpuPools;
}

/** Reports a template of the wrong kind as a fault of the member that names it. */
function forPods(error: unknown): never {
  const isKind =
    error instanceof CoreError &&
    error.reason === 'INVALID_REQUEST' &&
    error.message.includes('is a template for pods');
  throw isKind ? misfit(['$.templateId: is a template for pods; endpoints need a serverless template']) : error;
}
