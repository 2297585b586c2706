/** Fields of network volumes over VolumeService. */
import type { CreateNetworkVolumeResponse, NetworkVolume } from '../../../proto/gen/slipway/v1/volume_service.ts';
import { change, noChanges } from '../../resources/mask-fields.ts';
import { callCore, updateCore } from '../core-calls.ts';
import type { Resolver } from '../core-calls.ts';
import { listVolumes, presentVolume } from './read-volumes.ts';

const SERVICE = 'VolumeService';

interface UpdateInput {
  id: string;
  name?: string | null;
  size?: number | null;
}

/** Part of Mesh's `additionalResolvers`. */
export const volumeResolvers = {
  User: {
    networkVolumes: ((_root, _args, context) => listVolumes(context)) satisfies Resolver,
  },
  Mutation: {
    createNetworkVolume: (async (_root, { input: { name, size, dataCenterId } }, context) => {
      const request = { networkVolume: { name, sizeGb: size, dataCenterId } };
      const { networkVolume } = await callCore<CreateNetworkVolumeResponse>(context, SERVICE, 'CreateNetworkVolume', request);
      return presentVolume(networkVolume!);
    }) satisfies Resolver<{ input: { name: string; size: number; dataCenterId: string } }>,
    updateNetworkVolume: (async (_root, { input }, context) => {
      const fields = noChanges<NetworkVolume>();
      change(fields, 'name', input.name ?? undefined);
      change(fields, 'sizeGb', input.size ?? undefined);
      const { networkVolume } = await updateCore<CreateNetworkVolumeResponse>(context, [SERVICE, 'NetworkVolume', 'networkVolume'], input.id, fields);
      return presentVolume(networkVolume!);
    }) satisfies Resolver<{ input: UpdateInput }>,
    deleteNetworkVolume: (async (_root, { input: { id } }, context) => {
      await callCore(context, SERVICE, 'DeleteNetworkVolume', { id });
      return null;
    }) satisfies Resolver<{ input: { id: string } }>,
  },
};
