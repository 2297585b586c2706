/** Calls of VolumeService that several fields share, and the public shape of a volume. */
import type { NetworkVolume } from '../../../proto/gen/slipway/v1/volume_service.ts';
import { listCore, once } from '../core-calls.ts';
import type { GraphqlContext } from '../core-calls.ts';
import { numberOf } from '../core-message.ts';
import type { CoreMessage } from '../core-message.ts';

/** NetworkVolume of the public schema. */
export interface VolumeRecord {
  id: string;
  name: string;
  /** GB. */
  size: number;
  dataCenterId: string;
}

/** A volume of the contract in its public shape. */
export function presentVolume(volume: CoreMessage<NetworkVolume>): VolumeRecord {
  return { id: volume.id ?? '', name: volume.name ?? '', size: numberOf(volume.sizeGb), dataCenterId: volume.dataCenterId ?? '' };
}

/** All of the account, oldest first, read once for an operation. */
export function listVolumes(context: GraphqlContext): Promise<VolumeRecord[]> {
  return once(context, 'volumes', async () => (
    (await listCore<NetworkVolume>(context, ['VolumeService', 'ListNetworkVolumes', 'networkVolumes'], {})).map(presentVolume)
  ));
}

/** The same by their ids. */
export function volumesById(context: GraphqlContext): Promise<ReadonlyMap<string, VolumeRecord>> {
  return once(context, 'volumes by id', async () => new Map((await listVolumes(context)).map((volume) => [volume.id, volume])));
}
