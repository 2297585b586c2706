/** Network volumes between the contract and the domain. */
import type { NetworkVolume as VolumeMessage } from '../../proto/gen/slipway/v1/volume_service.ts';
import { invalid } from '../domain/endpoint.ts';
import type { NetworkVolume, VolumeSettings } from '../domain/volume.ts';
import type { VolumeChange } from '../volumes/update-volume.ts';

/** A volume for its owner. */
export function volumeToMessage({ id, name, sizeGb, dataCenterId, createdAt }: NetworkVolume): VolumeMessage {
  return { id, name, sizeGb, dataCenterId, createTime: createdAt };
}

/** A creation. INVALID_REQUEST: there is nothing to create. */
export function volumeFromMessage(volume: VolumeMessage | undefined): VolumeSettings {
  if (!volume) throw invalid('network_volume is required');
  return { name: volume.name, sizeGb: volume.sizeGb, dataCenterId: volume.dataCenterId };
}

/** How each field that may be named in an update mask gets its new value. */
const CHANGES: Record<string, (volume: VolumeMessage) => VolumeChange> = {
  name: ({ name }) => ({ name }),
  size_gb: ({ sizeGb }) => ({ sizeGb }),
};

/** A change from an update mask. INVALID_REQUEST: the mask is empty or names a field that cannot be changed. */
export function volumeChangeFromMessage(volume: VolumeMessage, mask: readonly string[]): VolumeChange {
  if (mask.length === 0) throw invalid('update_mask is empty: name the fields to change');
  const change: VolumeChange = {};
  for (const path of mask) {
    const field = Object.hasOwn(CHANGES, path) ? CHANGES[path] : undefined;
    if (!field) {
      throw invalid(`update_mask: ${JSON.stringify(path.slice(0, 64))} cannot be changed; allowed are ${Object.keys(CHANGES).join(', ')}`);
    }
    Object.assign(change, field(volume));
  }
  return change;
}
