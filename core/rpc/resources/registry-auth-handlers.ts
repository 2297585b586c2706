/** RegistryAuthService: decode, call a use case, encode. The secrets are never encoded. */
import type {
  RegistryAuth as RegistryAuthMessage,
  RegistryAuthServiceServer,
} from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { CreateRegistryAuthRequest } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import type { Access } from '../../access/access.ts';
import type { RegistryAuth } from '../../domain/resources/registry-auth.ts';
import { registryAuthNotFound } from '../../domain/resources/registry-auth.ts';
import { createOnce } from '../../resources/create-once.ts';
import type { RegistryContext } from '../../resources/registry-auths.ts';
import {
  createRegistryAuth,
  deleteRegistryAuth,
  getRegistryAuth,
  updateRegistryAuth,
} from '../../resources/registry-auths.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

/** Returns the handlers of the service. */
export function registryAuthHandlers(
  access: Access,
  context: RegistryContext,
  lists: ListParts,
): RegistryAuthServiceServer {
  const { logger } = lists;
  return {
    createRegistryAuth: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      const { name, username, password } = request;
      const made = await createOnce(context, {
        ...creationOf('CreateRegistryAuth', CreateRegistryAuthRequest, request),
        accountId,
        create: (key) => createRegistryAuth(context, actor, name, { username, password }, key),
        read: (id) => getRegistryAuth(context, accountId, id),
      });
      return { registryAuth: toMessage(made) };
    }),
    getRegistryAuth: unary(logger, async ({ id }, apiKey) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      if (caller.endpointIds.length > 0) throw registryAuthNotFound(id);
      return { registryAuth: toMessage(await getRegistryAuth(context, accountId, id)) };
    }),
    listRegistryAuths: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const page = pageRequestOf(request);
      // A key that is limited to some endpoints sees no credentials.
      if (caller.endpointIds.length > 0) return { registryAuths: [], nextPageToken: '' };
      await enter(accountId);
      const { entries, next } = await context.registryAuths.list(accountId, page);
      return { registryAuths: entries.map(toMessage), nextPageToken: tokenOf(next, page) };
    }),
    updateRegistryAuth: unary(logger, async ({ id, username, password }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      return { registryAuth: toMessage(await updateRegistryAuth(context, actor, id, { username, password })) };
    }),
    deleteRegistryAuth: unary(logger, async ({ id, clearTemplates = false }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      await deleteRegistryAuth(context, actor, id, clearTemplates);
      return {};
    }),
  };
}

function toMessage({ id, name, createdAt }: RegistryAuth): RegistryAuthMessage {
  return { id, name, createTime: createdAt };
}
