/** SecretService: decode, call a use case, encode. Values are never encoded. */
import type { Secret as SecretMessage, SecretServiceServer } from '@slipway/proto/gen/slipway/v1/secret_service';
import { CreateSecretRequest } from '@slipway/proto/gen/slipway/v1/secret_service';
import type { Access } from '../../access/access.ts';
import { secretNotFound } from '../../domain/resources/secret.ts';
import { createOnce } from '../../resources/create-once.ts';
import type { SecretContext, SecretView } from '../../resources/secrets.ts';
import { createSecret, deleteSecret, getSecret, listSecrets, updateSecret } from '../../resources/secrets.ts';
import { creationOf } from '../server/creation.ts';
import { ownAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

/** Returns the handlers of the service. */
export function secretHandlers(access: Access, context: SecretContext, lists: ListParts): SecretServiceServer {
  const { logger } = lists;
  return {
    createSecret: unary(logger, async (request, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      const { accountId } = actor;
      const made = await createOnce(context, {
        ...creationOf('CreateSecret', CreateSecretRequest, request),
        accountId,
        create: (key) => createSecret(context, actor, request, key),
        read: (id) => getSecret(context, accountId, id),
      });
      return { secret: toMessage(made) };
    }),
    getSecret: unary(logger, async ({ id }, apiKey) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      if (caller.endpointIds.length > 0) throw secretNotFound(id);
      return { secret: toMessage(await getSecret(context, accountId, id)) };
    }),
    listSecrets: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await ownAccount(access, apiKey, false);
      const page = pageRequestOf(request);
      // A key that is limited to some endpoints sees no secrets.
      if (caller.endpointIds.length > 0) return { secrets: [], nextPageToken: '' };
      await enter(accountId);
      const { entries, next } = await listSecrets(context, accountId, page);
      return { secrets: entries.map(toMessage), nextPageToken: tokenOf(next, page) };
    }),
    updateSecret: unary(logger, async ({ id, value, description }, apiKey) => {
      const actor = await ownAccount(access, apiKey, true);
      return { secret: toMessage(await updateSecret(context, actor, id, { value, description })) };
    }),
    deleteSecret: unary(logger, async ({ id }, apiKey) => {
      await deleteSecret(context, await ownAccount(access, apiKey, true), id);
      return {};
    }),
  };
}

function toMessage({ id, name, description, createdAt, valueSetAt, use }: SecretView): SecretMessage {
  return {
    id,
    name,
    description,
    createTime: createdAt,
    valueSetTime: valueSetAt,
    users: use.users,
    userCount: use.count,
  };
}
