/** Calls of EndpointService that several fields share. */
import type { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import type { GetEndpointResponse } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { Template } from '@slipway/proto/gen/slipway/v1/template_service';
import type { GraphqlContext } from '../core-calls.ts';
import { callCore, listCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';

const SERVICE = 'EndpointService';

/** Reads an endpoint of the account, once per operation. Throws ENDPOINT_NOT_FOUND. */
export function readEndpoint(id: string, context: GraphqlContext): Promise<CoreMessage<Endpoint>> {
  return once(
    context,
    `endpoint ${id}`,
    async () => (await callCore<GetEndpointResponse>(context, SERVICE, 'GetEndpoint', { id })).endpoint!,
  );
}

/** Returns the template of an endpoint. `null` if it can no longer be shown. */
export function readEndpointTemplate(id: string, context: GraphqlContext): Promise<CoreMessage<Template> | null> {
  return once(context, `template of endpoint ${id}`, async () => {
    const request = { id, includeTemplate: true };
    return (await callCore<GetEndpointResponse>(context, SERVICE, 'GetEndpoint', request)).endpoint?.template ?? null;
  });
}

/** Returns all endpoints of the account, oldest first. Read once per operation. */
export function listEndpoints(context: GraphqlContext): Promise<CoreMessage<Endpoint>[]> {
  return once(context, 'endpoints', () => listCore<Endpoint>(context, [SERVICE, 'ListEndpoints', 'endpoints'], {}));
}
