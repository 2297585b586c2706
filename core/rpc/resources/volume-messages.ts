/** Network volumes between the contract and the domain. */
import type { NetworkVolume as VolumeMessage } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { NetworkVolume, VolumeSettings } from '../../domain/resources/volume.ts';
import { VOLUME_SETTINGS } from '../../domain/resources/volume.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import type { VolumeChange } from '../../resources/volumes.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';

/** A volume for its owner. */
export function volumeToMessage({ accountId: _accountId, createdAt, ...shown }: NetworkVolume): VolumeMessage {
  return { ...shown, createTime: createdAt };
}

/** A creation. INVALID_REQUEST: there is nothing to create. */
export function volumeFromMessage(volume: VolumeMessage | undefined): VolumeSettings {
  if (!volume) throw invalid('network_volume is required');
  const { id: _id, createTime: _createTime, ...settings } = volume;
  return settings;
}

/**
 * How each field that may be named in an update mask gets its new value. The fixed ones may be named with the value
 * that they have.
 */
const CHANGES: FieldReaders<VolumeMessage, VolumeChange> = Object.fromEntries(
  (Object.keys(VOLUME_SETTINGS) as (keyof VolumeSettings)[]).map((field) => [
    snake(field),
    (volume: VolumeMessage) => ({ [field]: volume[field] }),
  ]),
);

/** A change from an update mask. INVALID_REQUEST: the mask is empty or names a field that cannot be changed. */
export function volumeChangeFromMessage(volume: VolumeMessage, mask: readonly string[]): VolumeChange {
  return changeFromMask(volume, mask, CHANGES);
}
