/**
 * DELETE /v1/endpoints/{endpointId}: 204. Both worker counts must be 0 (docs/reference/management.md#endpoints), unless
 * the operator lets the service set them.
 */

import { Endpoint } from '@slipway/proto/gen/slipway/v1/endpoint';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { errors, idOf } from '../rest-parts.ts';
import { EndpointPath } from './endpoint-query.ts';

/** Adds the route. */
export function deleteEndpoint(app: RestApp, { core, config, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteEndpoint',
    tags: ['endpoints'],
    summary: 'Delete an endpoint whose worker counts are 0',
    params: EndpointPath,
    response: { 204: Type.Null({ description: 'It was deleted.' }), ...errors(404) },
  };
  const remove = (apiKey: string, id: string): Promise<unknown> =>
    core.endpoints.call((client) => client.deleteEndpoint, { id }, { apiKey, repeatable: false });
  const setToZero = (apiKey: string, id: string): Promise<unknown> =>
    core.endpoints.call(
      (client) => client.updateEndpoint,
      { endpoint: Endpoint.fromPartial({ id }), updateMask: ['workers_min', 'workers_max'] },
      { apiKey, repeatable: true },
    );
  app.delete('/v1/endpoints/:endpointId', { schema, onRequest: gate }, async (request, reply) => {
    const { apiKey } = request.caller;
    const id = idOf(request.params.endpointId, 'endpoint');
    if (config.restDeleteAutoZero) await setToZero(apiKey, id);
    await remove(apiKey, id).catch((error: unknown) => {
      throw explain(error, id);
    });
    return reply.code(204).send(null);
  });
}

/**
 * Explains the request that must come first. Stock tools send only the DELETE
 * (docs/reference/management.md#operations).
 */
function explain(error: unknown, id: string): unknown {
  if (!(error instanceof CoreError) || error.reason !== 'WORKERS_NOT_ZERO') return error;
  const text =
    'workersMin and workersMax must both be 0 before an endpoint is deleted: ' +
    `first send PATCH /v1/endpoints/${id} with the body {"workersMin":0,"workersMax":0}. ` +
    'For tools that send the DELETE alone the operator can set SLIPWAY_REST_DELETE_AUTO_ZERO=true.';
  return new CoreError('WORKERS_NOT_ZERO', text, { cause: error });
}
