/**
 * Shapes of network volumes on the REST surface (docs/reference/management.md#network-volumes). They validate requests,
 * serialize responses and make the OpenAPI document.
 */
import { Type } from 'typebox';
import { bodyMembers, recordMembers } from '../rest-shapes.ts';
import type { RestBody, RestRecord } from '../rest-values.ts';
import { VOLUME } from './volume-table.ts';

/** Body of POST /networkvolumes. */
export const NetworkVolumeCreateInput = Type.Object(bodyMembers(VOLUME, { creates: true }), {
  $id: 'NetworkVolumeCreateInput',
  examples: [{ name: 'models', size: 100, dataCenterId: 'EU-RO-1' }],
});
export type NetworkVolumeCreateInput = Required<NetworkVolumeUpdateInput>;

/** Body of PATCH /networkvolumes/{networkVolumeId}. Absent members stay unchanged. */
export const NetworkVolumeUpdateInput = Type.Object(bodyMembers(VOLUME), {
  $id: 'NetworkVolumeUpdateInput',
  examples: [{ size: 200 }],
});
export type NetworkVolumeUpdateInput = RestBody<typeof VOLUME>;

/** A network volume in responses. */
export const NetworkVolumeRecord = Type.Object(
  { id: Type.String(), ...recordMembers(VOLUME) },
  { $id: 'NetworkVolume' },
);
export type NetworkVolumeRecord = RestRecord<typeof VOLUME> & { id: string };

/** Path of one network volume. */
export const NetworkVolumePath = Type.Object({
  networkVolumeId: Type.String({ description: 'Id of the network volume.' }),
});
