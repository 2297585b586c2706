/** Converts network volumes between the contract and the domain. */
import type { NetworkVolume as VolumeMessage } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { NetworkVolume, VolumeSettings } from '../../domain/resources/volume.ts';
import { VOLUME_SETTINGS } from '../../domain/resources/volume.ts';
import { invalid, snake } from '../../domain/settings/fields.ts';
import type { VolumeChange } from '../../resources/volumes.ts';
import type { FieldReaders } from '../server/update-mask.ts';
import { changeFromMask } from '../server/update-mask.ts';

/** Converts a volume for its owner. */
export function volumeToMessage({ accountId: _accountId, createdAt, ...shown }: NetworkVolume): VolumeMessage {
  return { ...shown, createTime: createdAt };
}

/** Converts a creation. Throws INVALID_REQUEST if the message has no volume. */
export function volumeFromMessage(volume: VolumeMessage | undefined): VolumeSettings {
  if (!volume) throw invalid('network_volume is required');
  const { id: _id, createTime: _createTime, ...settings } = volume;
  return settings;
}

/** Readers of the fields that an update mask may name. Fixed fields may be named with their current value. */
const CHANGES: FieldReaders<VolumeMessage, VolumeChange> = Object.fromEntries(
  (Object.keys(VOLUME_SETTINGS) as (keyof VolumeSettings)[]).map((field) => [
    snake(field),
    (volume: VolumeMessage) => ({ [field]: volume[field] }),
  ]),
);

/**
 * Converts a change with an update mask. Throws INVALID_REQUEST if the mask is empty or names a field that cannot be
 * changed.
 */
export function volumeChangeFromMessage(volume: VolumeMessage, mask: readonly string[]): VolumeChange {
  return changeFromMask(volume, mask, CHANGES);
}
