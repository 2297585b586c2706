/** Fields of network volumes over VolumeService. */
import type { CreateNetworkVolumeResponse, NetworkVolume } from '@slipway/proto/gen/slipway/v1/volume_service';
import { VOLUME } from '../../resources/volumes/volume-table.ts';
import type { Resolver } from '../core-calls.ts';
import { callCore, updateCore } from '../core-calls.ts';
import { inputChanges } from '../table-fields.ts';
import { listVolumes, presentVolume } from './read-volumes.ts';

const SERVICE = 'VolumeService';

interface UpdateInput {
  id: string;
}

/** Part of Mesh's `additionalResolvers`. */
export const volumeResolvers = {
  User: {
    networkVolumes: ((_root, _args, context) => listVolumes(context)) satisfies Resolver,
  },
  Mutation: {
    createNetworkVolume: (async (_root, { input }, context) => {
      const request = { networkVolume: inputChanges<NetworkVolume>(VOLUME, input).changes };
      const { networkVolume } = await callCore<CreateNetworkVolumeResponse>(
        context,
        SERVICE,
        'CreateNetworkVolume',
        request,
      );
      return presentVolume(networkVolume!);
    }) satisfies Resolver<{ input: object }>,
    updateNetworkVolume: (async (_root, { input }, context) => {
      const fields = inputChanges<NetworkVolume>(VOLUME, input);
      const { networkVolume } = await updateCore<CreateNetworkVolumeResponse>(
        context,
        [SERVICE, 'NetworkVolume', 'networkVolume'],
        input.id,
        fields,
      );
      return presentVolume(networkVolume!);
    }) satisfies Resolver<{ input: UpdateInput }>,
    deleteNetworkVolume: (async (_root, { input: { id } }, context) => {
      await callCore(context, SERVICE, 'DeleteNetworkVolume', { id });
      return null;
    }) satisfies Resolver<{ input: { id: string } }>,
  },
};
