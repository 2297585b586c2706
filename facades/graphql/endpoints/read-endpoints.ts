/** Calls of EndpointService that several fields share. */
import type { Endpoint } from '../../../proto/gen/slipway/v1/endpoint.ts';
import type { GetEndpointResponse, ListEndpointsResponse } from '../../../proto/gen/slipway/v1/endpoint_service.ts';
import { callCore, once } from '../core-calls.ts';
import type { GraphqlContext } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';

const SERVICE = 'EndpointService';

/** One endpoint of the account, read once for an operation. ENDPOINT_NOT_FOUND: there is none. */
export function readEndpoint(id: string, context: GraphqlContext): Promise<CoreMessage<Endpoint>> {
  return once(context, `endpoint ${id}`, async () => (await callCore<GetEndpointResponse>(context, SERVICE, 'GetEndpoint', { id })).endpoint!);
}

/** All of the account, oldest first, read once for an operation. */
export function listEndpoints(context: GraphqlContext): Promise<CoreMessage<Endpoint>[]> {
  return once(context, 'endpoints', async () => (await callCore<ListEndpointsResponse>(context, SERVICE, 'ListEndpoints', {})).endpoints ?? []);
}
