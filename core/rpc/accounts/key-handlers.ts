/** KeyService: decode, call a use case, encode. */

import type { Key, KeyPermissions, KeyServiceServer } from '@slipway/proto/gen/slipway/v1/access_service';
import { KeyScope, Permission as PermissionMessage } from '@slipway/proto/gen/slipway/v1/access_service';
import type { Access } from '../../access/access.ts';
import type { KeyContext, KeyRequest } from '../../access/create-key.ts';
import { createKey } from '../../access/create-key.ts';
import { listKeys, revokeKey } from '../../access/keys.ts';
import type { Caller, Permission } from '../../domain/accounts/permission.ts';
import { unauthorized } from '../../domain/accounts/permission.ts';
import { invalid } from '../../domain/settings/fields.ts';
import type { ApiKey } from '../../store/accounts/api-key-store.ts';
import { namedAccount } from '../server/own-account.ts';
import type { ListParts } from '../server/paging.ts';
import { listing, pageRequestOf, tokenOf } from '../server/paging.ts';
import { unary } from '../server/unary.ts';

const SCOPES: Record<KeyScope, KeyRequest['scope'] | undefined> = {
  [KeyScope.UNSPECIFIED]: undefined,
  [KeyScope.ALL]: 'ALL',
  [KeyScope.READ_ONLY]: 'READ_ONLY',
  [KeyScope.AGENT]: 'AGENT',
  [KeyScope.RESTRICTED]: 'RESTRICTED',
};

/** Returns the handlers of the service. `onRevoked` notifies all replicas. */
export function keyHandlers(
  access: Access,
  context: KeyContext,
  onRevoked: (keyId: string) => void,
  lists: ListParts,
): KeyServiceServer {
  const { logger } = lists;
  return {
    createKey: unary(logger, async ({ permissions, scope, replacesKeyId = '', ...fields }, apiKey) => {
      const caller = await access.caller(apiKey);
      const known = SCOPES[scope];
      if (!known)
        throw invalid('scope must be KEY_SCOPE_ALL, KEY_SCOPE_READ_ONLY, KEY_SCOPE_RESTRICTED or KEY_SCOPE_AGENT');
      const { key, secret } = await createKey(context, caller, {
        ...fields,
        replacesKeyId,
        scope: known,
        permissions: permissions && permissionsFromMessage(permissions),
      });
      return { key: keyToMessage(key), secret };
    }),
    listKeys: listing(lists, async (request, apiKey, enter) => {
      const { accountId, caller } = await namedAccount(access, apiKey, request.accountId);
      const { all: everybody = false } = request;
      if (everybody && caller.scope !== 'ROOT') throw unauthorized();
      if (everybody && accountId !== '') throw invalid('give account_id or all, not both');
      const page = pageRequestOf(request);
      await enter(accountId);
      const { entries, next } = await listKeys(
        context.keys,
        everybody ? undefined : accountId,
        caller.endpointIds,
        page,
      );
      return { keys: entries.map(keyToMessage), nextPageToken: tokenOf(next, page) };
    }),
    revokeKey: unary(logger, async ({ id }, apiKey) => {
      await revokeKey(context.keys, await access.caller(apiKey), id, onRevoked);
      return {};
    }),
  };
}

function keyToMessage(key: ApiKey): Key {
  return {
    id: key.id,
    accountId: key.accountId,
    name: key.name,
    scope: KeyScope[key.scope],
    endpointIds: key.endpointIds,
    createTime: key.createdAt,
    revokeTime: key.revokedAt ?? undefined,
    machineId: key.machineId ?? '',
    permissions:
      key.scope === 'RESTRICTED'
        ? { management: toMessage(key.permissions.MANAGEMENT), jobs: toMessage(key.permissions.JOBS) }
        : undefined,
  };
}

function permissionsFromMessage({ management, jobs }: KeyPermissions): Caller['permissions'] {
  return { MANAGEMENT: fromMessage('permissions.management', management), JOBS: fromMessage('permissions.jobs', jobs) };
}

function fromMessage(field: string, permission: PermissionMessage): Permission {
  switch (permission) {
    case PermissionMessage.UNSPECIFIED:
      return 'NONE';
    case PermissionMessage.READ:
      return 'READ';
    case PermissionMessage.READ_WRITE:
      return 'READ_WRITE';
    default:
      throw invalid(`${field} has a value that this version does not know`);
  }
}

function toMessage(permission: Permission): PermissionMessage {
  return permission === 'NONE' ? PermissionMessage.UNSPECIFIED : PermissionMessage[permission];
}
