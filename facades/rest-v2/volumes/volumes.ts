/** Network volumes in REST v2, and global volumes, of which there are none. */

import { NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CoreError } from '@slipway/proto/wire/reason';
import { Type } from 'typebox';
import { change, noChanges } from '../../resources/mask-fields.ts';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { Operation } from '../operation.ts';
import { creation, once, operation, repeatable } from '../operation.ts';
import { answerPage, listOf, PageQuery } from '../pages.ts';
import { against } from '../rejections.ts';
import { closed, named, word } from '../schema-parts.ts';
import { alwaysIs } from '../without-effect.ts';

const ONE = '/v2/network-volumes/{volumeId}';
const TAG = { tag: 'network volumes' };

/** Smallest volume that a body may ask for, in GB. */
const SIZE_GB_MIN = 10;
const NAME = { minLength: 1, maxLength: VOLUME.name.kind.max };

const name = Type.String({ ...NAME, description: 'Name, for people.' });
const size = Type.Integer({
  minimum: SIZE_GB_MIN,
  maximum: VOLUME.sizeGb.rule.max,
  description: 'Size in GB. It can grow, but never shrink.',
});
const dataCenter = Type.String({
  minLength: 1,
  maxLength: VOLUME.dataCenterId.kind.max,
  description: 'Data centre whose machines can mount it. Fixed after creation.',
});
const type = Type.Unsafe<'STANDARD' | 'HIGH_PERFORMANCE'>({
  ...word(['STANDARD', 'HIGH_PERFORMANCE']),
  ...alwaysIs('STANDARD', 'all volumes are STANDARD.'),
});

const CreateVolume = named('CreateNetworkVolumeRequest', closed({ name, size, dataCenter, type: Type.Optional(type) }));
const UpdateVolume = named(
  'UpdateNetworkVolumeRequest',
  closed({ name: Type.Optional(name), size: Type.Optional(size) }, { minProperties: 1 }),
);
const VolumeShape = named(
  'NetworkVolume',
  Type.Object({ id: Type.String(), name, size: Type.Integer({ description: 'Size in GB.' }), dataCenter, type }),
);
const GlobalVolume = named('GlobalVolume', Type.Object({ id: Type.String(), name: Type.String() }));

/** The operations. */
export const volumeOperations: readonly Operation[] = [
  operation({
    ...TAG,
    id: 'ListNetworkVolumes',
    method: 'GET',
    path: '/v2/network-volumes',
    summary: 'List network volumes, the newest first',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListNetworkVolumesResponse', listOf('networkVolumes', VolumeShape, 'Newest first.')),
    handle: (call, { core }) =>
      answerPage(call, 'ListNetworkVolumes', 'networkVolumes', {
        read: (page) => core.volumes.call((client) => client.listNetworkVolumes, page, repeatable(call)),
        present: ({ networkVolumes }) => networkVolumes.map(presentVolume),
      }),
  }),
  operation({
    ...TAG,
    id: 'CreateNetworkVolume',
    method: 'POST',
    path: '/v2/network-volumes',
    summary: 'Create a network volume',
    body: CreateVolume,
    status: 201,
    answer: VolumeShape,
    creates: true,
    handle: async (call, { core }) => {
      const { requestId, options } = creation(call);
      const { body } = call;
      const networkVolume = NetworkVolume.fromPartial({
        name: body.name,
        sizeGb: body.size,
        dataCenterId: body.dataCenter,
      });
      const request = { networkVolume, requestId };
      const made = await core.volumes.call((client) => client.createNetworkVolume, request, options);
      return presentVolume(made.networkVolume);
    },
  }),
  operation({
    ...TAG,
    id: 'GetNetworkVolume',
    method: 'GET',
    path: ONE,
    summary: 'Read a network volume',
    status: 200,
    answer: VolumeShape,
    handle: async (call, { core }) => {
      const id = call.path['volumeId']!;
      return presentVolume(
        (await core.volumes.call((client) => client.getNetworkVolume, { id }, repeatable(call))).networkVolume,
      );
    },
  }),
  operation({
    ...TAG,
    id: 'UpdateNetworkVolume',
    method: 'PATCH',
    path: ONE,
    summary: 'Rename or enlarge a network volume',
    body: UpdateVolume,
    status: 200,
    answer: VolumeShape,
    handle: async (call, { core }) => {
      const fields = noChanges<NetworkVolume>();
      change(fields, 'name', call.body.name);
      change(fields, 'sizeGb', call.body.size);
      const update = {
        networkVolume: NetworkVolume.fromPartial({ ...fields.changes, id: call.path['volumeId']! }),
        updateMask: fields.mask,
      };
      return presentVolume(
        (await core.volumes.call((client) => client.updateNetworkVolume, update, repeatable(call))).networkVolume,
      );
    },
  }),
  operation({
    ...TAG,
    id: 'DeleteNetworkVolume',
    method: 'DELETE',
    path: ONE,
    summary: 'Delete a network volume that nothing uses',
    status: 204,
    errors: [400],
    handle: async (call, { core }) => {
      await core.volumes.call((client) => client.deleteNetworkVolume, { id: call.path['volumeId']! }, once(call));
    },
  }),
  operation({
    ...TAG,
    id: 'ListGlobalVolumes',
    method: 'GET',
    path: '/v2/global-volumes',
    summary: 'List global volumes (always empty)',
    query: Type.Object({ ...PageQuery.properties }),
    status: 200,
    answer: named('ListGlobalVolumesResponse', listOf('globalVolumes', GlobalVolume, 'Empty.')),
    handle: (call) =>
      answerPage(call, 'ListGlobalVolumes', 'globalVolumes', {
        read: async () => ({ nextPageToken: '' }),
        present: () => [],
      }),
  }),
  operation({
    ...TAG,
    id: 'CreateGlobalVolume',
    method: 'POST',
    path: '/v2/global-volumes',
    summary: 'Not available: there are no global volumes',
    body: named('CreateGlobalVolumeRequest', closed({ name })),
    status: 201,
    answer: GlobalVolume,
    handle: async () => {
      throw against(
        'There are no global volumes here: make one for each data centre by POST /v2/network-volumes, and name ' +
          'them all in networkVolumes.',
      );
    },
  }),
];

function presentVolume(volume: NetworkVolume | undefined): object {
  if (volume === undefined) throw new CoreError('INTERNAL', 'core answered without a network volume');
  const { id, name: called, sizeGb, dataCenterId } = volume;
  return { id, name: called, size: sizeGb, dataCenter: dataCenterId, type: 'STANDARD' };
}
