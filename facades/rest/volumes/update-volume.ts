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
import { updateRoutes } from '../update-routes.ts';

/** Adds both routes. */
export function updateVolume(app: RestApp, parts: RestParts): void {
  const { volumes } = parts.core;
  updateRoutes<NetworkVolumeUpdateInput, NetworkVolumeRecord>(app, parts, {
    shape: 'NetworkVolume',
    thing: 'network volume',
    collection: '/v1/networkvolumes',
    idName: 'networkVolumeId',
    params: NetworkVolumePath,
    update: async (id, input, { apiKey }) => {
      const { changes, mask } = restChanges<NetworkVolume>(VOLUME, input);
      const options = { apiKey, repeatable: true };
      const update = { networkVolume: NetworkVolume.fromPartial({ ...changes, id }), updateMask: mask };
      const { networkVolume } =
        mask.length === 0
          ? await volumes.call((client) => client.getNetworkVolume, { id }, options)
          : await volumes.call((client) => client.updateNetworkVolume, update, options);
      return presentVolume(networkVolume);
    },
  });
}
