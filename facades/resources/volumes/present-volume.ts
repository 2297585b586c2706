/** Contract network volume to public record. */
import type { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { restRecord } from '../rest-values.ts';
import type { NetworkVolumeRecord } from './volume-schemas.ts';
import { VOLUME } from './volume-table.ts';

/** Returns the public record. */
export function presentVolume(volume: NetworkVolume | undefined): NetworkVolumeRecord {
  if (volume === undefined) throw new CoreError('INTERNAL', 'core answered without a network volume');
  return { id: volume.id, ...restRecord(VOLUME, volume) };
}
