/** POST /v1/networkvolumes (docs/management.md#network-volumes). */
import { NetworkVolume } from '../../../proto/gen/slipway/v1/volume_service.ts';
import { restChanges } from '../../resources/rest-values.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import { changed, errors, ref } from '../rest-parts.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { presentVolume } from '../../resources/volumes/present-volume.ts';
import type { NetworkVolumeCreateInput, NetworkVolumeRecord } from '../../resources/volumes/volume-schemas.ts';

/** Adds the route. */
export function createVolume(app: RestApp, { core, gate, readJson }: RestParts): void {
  const schema = {
    operationId: 'CreateNetworkVolume', tags: ['network volumes'], summary: 'Create a network volume',
    body: ref<NetworkVolumeCreateInput>('NetworkVolumeCreateInput'),
    response: { 200: changed<NetworkVolumeRecord>('NetworkVolume'), ...errors() },
  };
  app.post('/v1/networkvolumes', { schema, onRequest: gate, preValidation: readJson }, async (request) => {
    const networkVolume = NetworkVolume.fromPartial(restChanges<NetworkVolume>(VOLUME, request.body).changes);
    const options = { apiKey: request.caller.apiKey, repeatable: false };
    const response = await core.volumes.call((client) => client.createNetworkVolume, { networkVolume }, options);
    return presentVolume(response.networkVolume);
  });
}
