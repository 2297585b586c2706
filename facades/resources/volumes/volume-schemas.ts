/** Shapes of network volumes on the REST surface (docs/management.md#network-volumes). They check requests, shape answers and make the OpenAPI document. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { optional } from '../optional.ts';

const Name = Type.String({ minLength: 1, maxLength: 191, description: 'For people.' });
const DataCenter = Type.String({ minLength: 1, maxLength: 64, description: 'Data centre whose machines see it. Fixed after creation.' });
const Size = Type.Integer({ minimum: 0, maximum: 4_000, description: 'Size in GB. It only ever grows.' });

/** Body of POST /networkvolumes. */
export const NetworkVolumeCreateInput = Type.Object({
  name: Name,
  size: Size,
  dataCenterId: DataCenter,
}, { $id: 'NetworkVolumeCreateInput', examples: [{ name: 'models', size: 100, dataCenterId: 'EU-RO-1' }] });
export type NetworkVolumeCreateInput = Static<typeof NetworkVolumeCreateInput>;

/** Body of PATCH /networkvolumes/{networkVolumeId}: what is left out stays as it is. */
export const NetworkVolumeUpdateInput = Type.Object({
  name: optional(Name),
  size: optional(Size),
  dataCenterId: optional(DataCenter),
}, { $id: 'NetworkVolumeUpdateInput', examples: [{ size: 200 }] });
export type NetworkVolumeUpdateInput = Static<typeof NetworkVolumeUpdateInput>;

/** A network volume as it is answered. */
export const NetworkVolumeRecord = Type.Object({
  id: Type.String(),
  name: Type.String(),
  size: Type.Integer({ description: 'GB.' }),
  dataCenterId: Type.String(),
}, { $id: 'NetworkVolume' });
export type NetworkVolumeRecord = Static<typeof NetworkVolumeRecord>;

/** Path of one network volume. */
export const NetworkVolumePath = Type.Object({ networkVolumeId: Type.String({ description: 'Id of the network volume.' }) });
