/**
 * PATCH /v1/networkvolumes/{networkVolumeId} and POST …/update (docs/reference/management.md#network-volumes). Absent
 * members stay unchanged. The size only grows.
 */
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { restChanges } from '../../resources/rest-values.ts';
import { presentVolume } from '../../resources/volumes/present-volume.ts';
import type { NetworkVolumeRecord, NetworkVolumeUpdateInput } from '../../resources/volumes/volume-schemas.ts';
import { NetworkVolumePath } from '../../resources/volumes/volume-schemas.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { RestApp, RestParts } from '../rest-parts.ts';
import { changed, errors, idOf, ref } from '../rest-parts.ts';

/** Adds both routes. */
export function updateVolume(app: RestApp, { core, gate, readJson }: RestParts): void {
  for (const { method, url, operationId } of FORMS) {
    const schema = {
      operationId,
      tags: ['network volumes'],
      summary: 'Change a network volume',
      params: NetworkVolumePath,
      body: ref<NetworkVolumeUpdateInput>('NetworkVolumeUpdateInput'),
      response: { 200: changed<NetworkVolumeRecord>('NetworkVolume'), ...errors(404) },
    };
    app.route({
      method,
      url,
      schema,
      onRequest: gate,
      preValidation: readJson,
      handler: async (request) => {
        const id = idOf(request.params.networkVolumeId, 'network volume');
        const { changes, mask } = restChanges<NetworkVolume>(VOLUME, request.body);
        const options = { apiKey: request.caller.apiKey, repeatable: true };
        // An empty change is no error: the volume is returned unchanged.
        const update = { networkVolume: NetworkVolume.fromPartial({ ...changes, id }), updateMask: mask };
        const { networkVolume } =
          mask.length === 0
            ? await core.volumes.call((client) => client.getNetworkVolume, { id }, options)
            : await core.volumes.call((client) => client.updateNetworkVolume, update, options);
        return presentVolume(networkVolume);
      },
    });
  }
}

const FORMS = [
  { method: 'PATCH', url: '/v1/networkvolumes/:networkVolumeId', operationId: 'UpdateNetworkVolume' },
  { method: 'POST', url: '/v1/networkvolumes/:networkVolumeId/update', operationId: 'UpdateNetworkVolumeByPost' },
] as const;
