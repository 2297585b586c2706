/** DELETE /v1/networkvolumes/{networkVolumeId}: 204; 400 while an endpoint or a pod uses it. */
import { Type } from 'typebox';
import { errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { NetworkVolumePath } from '../../resources/volumes/volume-schemas.ts';

/** Adds the route. */
export function deleteVolume(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'DeleteNetworkVolume', tags: ['network volumes'], summary: 'Delete a network volume that nothing uses',
    params: NetworkVolumePath, response: { 204: Type.Null({ description: 'Deleted.' }), ...errors(404) },
  };
  app.delete('/v1/networkvolumes/:networkVolumeId', { schema, onRequest: gate }, async (request, reply) => {
    const id = idOf(request.params.networkVolumeId, 'network volume');
    await core.volumes.call((client) => client.deleteNetworkVolume, { id }, { apiKey: request.caller.apiKey, repeatable: false });
    return reply.code(204).send(null);
  });
}
