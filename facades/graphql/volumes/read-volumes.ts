/** Calls of VolumeService that several fields share, and the public shape of a volume. */
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { NetworkVolumeRecord } from '../../resources/volumes/volume-schemas.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { GraphqlContext } from '../core-calls.ts';
import { listCore, once } from '../core-calls.ts';
import type { CoreMessage } from '../core-message.ts';
import { shownFields } from '../table-fields.ts';

/** NetworkVolume of the public schema. */
type VolumeRecord = NetworkVolumeRecord;

/** Returns a contract volume in its public shape. */
export function presentVolume(volume: CoreMessage<NetworkVolume>): VolumeRecord {
  return { id: volume.id ?? '', ...shownFields(VOLUME, volume) } as VolumeRecord;
}

/** Returns all volumes of the account, oldest first. Read once per operation. */
export function listVolumes(context: GraphqlContext): Promise<VolumeRecord[]> {
  return once(context, 'volumes', async () =>
    (await listCore<NetworkVolume>(context, ['VolumeService', 'ListNetworkVolumes', 'networkVolumes'], {})).map(
      presentVolume,
    ),
  );
}

/** Returns the same volumes by id. */
export function volumesById(context: GraphqlContext): Promise<ReadonlyMap<string, VolumeRecord>> {
  return once(
    context,
    'volumes by id',
    async () => new Map((await listVolumes(context)).map((volume) => [volume.id, volume])),
  );
}
