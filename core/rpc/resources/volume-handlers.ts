/** VolumeService: decode, call a use case, encode. */
import type { VolumeServiceServer } from '@slipway/proto/gen/slipway/v1/volume_service';
import { CreateNetworkVolumeRequest } from '@slipway/proto/gen/slipway/v1/volume_service';
import type { Access } from '../../access/access.ts';
import { invalid } from '../../domain/settings/fields.ts';
import { createOnce } from '../../resources/create-once.ts';
import type { VolumeContext } from '../../resources/volumes.ts';
import { createVolume, deleteVolume, getVolume, updateVolume } from '../../resources/volumes.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';
import { volumeChangeFromMessage, volumeFromMessage, volumeToMessage } from './volume-messages.ts';

/** Returns the handlers of the service. */
export function volumeHandlers(access: Access, context: VolumeContext, lists: ListParts): VolumeServiceServer {
  const { logger } = lists;
  return {
    createNetworkVolume: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      const made = await createOnce(context, {
        ...creationOf('CreateNetworkVolume', CreateNetworkVolumeRequest, request),
        accountId,
        create: (key) => createVolume(context, actor, volumeFromMessage(request.networkVolume), key),
        read: (id) => getVolume(context, accountId, id, []),
      });
      return { networkVolume: volumeToMessage(made) };
    }),
    getNetworkVolume: unary(logger, async ({ id }, apiKey) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      return { networkVolume: volumeToMessage(await getVolume(context, accountId, id, caller.endpointIds)) };
    }),
    listNetworkVolumes: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const page = pageRequestOf(request);
      await enter(accountId);
      const { entries, next } = await context.volumes.list(accountId, caller.endpointIds, page);
      return { networkVolumes: entries.map(volumeToMessage), nextPageToken: tokenOf(next, page) };
    }),
    updateNetworkVolume: unary(logger, async ({ networkVolume, updateMask }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      if (!networkVolume) throw invalid('network_volume is required');
      const change = volumeChangeFromMessage(networkVolume, updateMask ?? []);
      return { networkVolume: volumeToMessage(await updateVolume(context, actor, networkVolume.id, change)) };
    }),
    deleteNetworkVolume: unary(logger, async ({ id }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      await deleteVolume(context, actor, id);
      return {};
    }),
  };
}
