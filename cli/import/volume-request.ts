/** Network volumes of the source as requests of their creation here. */

import type { CreateNetworkVolumeRequest } from '@slipway/proto/gen/slipway/v1/volume_service';
import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { VOLUME_SETTINGS } from '@slipway/proto/wire/settings';
import type { ImportContext } from './import-context.ts';
import { WaitingError } from './import-context.ts';
import type { SourceRow } from './source/source-lists.ts';

const SIZE_GB_MAX = VOLUME_SETTINGS.sizeGb.max;

/** Returns the request, without its key, and notes for people. Throws WaitingError if it cannot be created here. */
export function volumeRequest(
  { fields, name }: SourceRow,
  { mapping, target }: Pick<ImportContext, 'mapping' | 'target'>,
): { request: CreateNetworkVolumeRequest; notes: string[] } {
  const { size, dataCenter, type } = fields;
  if (typeof size !== 'number' || !Number.isInteger(size) || typeof dataCenter !== 'string')
    throw new WaitingError('the source does not say its size and data centre');
  if (size > SIZE_GB_MAX) throw new WaitingError(`has ${size} GB; a volume here has at most ${SIZE_GB_MAX}`);
  const place = mapping[dataCenter] ?? dataCenter;
  if (mapping[dataCenter] === undefined && !target.locations.has(place))
    throw new WaitingError(`its data centre ${dataCenter} is not here: name one with --map ${dataCenter}=PLACE`);
  const notes = [
    'is empty here: copy its files',
    ...(type !== undefined && type !== 'STANDARD'
      ? [`is ${String(type)} at the source, and as fast as its disk here`]
      : []),
  ];
  const networkVolume = NetworkVolume.fromPartial({ name, sizeGb: size, dataCenterId: place });
  return { request: { networkVolume, requestId: '' }, notes };
}
