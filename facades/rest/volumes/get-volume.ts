/** GET /v1/networkvolumes/{networkVolumeId}. */
import { answer, errors, idOf } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentVolume } from '../../resources/volumes/present-volume.ts';
import { NetworkVolumePath } from '../../resources/volumes/volume-schemas.ts';
import type { NetworkVolumeRecord } from '../../resources/volumes/volume-schemas.ts';

/** Adds the route. */
export function getVolume(app: RestApp, { core, gate }: RestParts): void {
  const schema = {
    operationId: 'GetNetworkVolume', tags: ['network volumes'], summary: 'Read a network volume',
    params: NetworkVolumePath, response: { 200: answer<NetworkVolumeRecord>('NetworkVolume'), ...errors(404) },
  };
  app.get('/v1/networkvolumes/:networkVolumeId', { schema, onRequest: gate }, async (request) => {
    const id = idOf(request.params.networkVolumeId, 'network volume');
    const options = { apiKey: request.caller.apiKey, repeatable: true };
    const response = await core.volumes.call((client) => client.getNetworkVolume, { id }, options);
    return presentVolume(response.networkVolume);
  });
}
