/** KeyService: decode, call a use case, encode. */
import { KeyScope } from '../../proto/gen/slipway/v1/access_service.ts';
import type { Key, KeyServiceServer } from '../../proto/gen/slipway/v1/access_service.ts';
import type { Access } from '../access/access.ts';
import { createKey } from '../access/create-key.ts';
import type { KeyContext, KeyWish } from '../access/create-key.ts';
import { revokeKey } from '../access/revoke-key.ts';
import { invalid } from '../domain/endpoint.ts';
import type { Logger } from '../runtime/logger.ts';
import type { ApiKey } from '../store/api-key-store.ts';
import { ownAccount } from './own-account.ts';
import { unary } from './unary.ts';

const SCOPES: Record<KeyScope, KeyWish['scope'] | undefined> = {
  [KeyScope.UNSPECIFIED]: undefined, [KeyScope.ALL]: 'ALL', [KeyScope.READ_ONLY]: 'READ_ONLY', [KeyScope.AGENT]: 'AGENT',
};

/** Handlers of the service. `onRevoked` tells all replicas. */
export function keyHandlers(access: Access, context: KeyContext, onRevoked: (keyId: string) => void, logger: Logger): KeyServiceServer {
  return {
    createKey: unary(logger, async ({ name, scope, endpointIds, accountId }, apiKey) => {
      const caller = await access.caller(apiKey);
      const known = SCOPES[scope];
      if (!known) throw invalid('scope must be KEY_SCOPE_ALL, KEY_SCOPE_READ_ONLY or KEY_SCOPE_AGENT');
      const { key, secret } = await createKey(context, caller, { name, scope: known, endpointIds, accountId });
      return { key: keyToMessage(key), secret };
    }),
    listKeys: unary(logger, async (_request, apiKey) => {
      const { accountId } = await ownAccount(access, apiKey, false);
      return { keys: (await context.keys.list(accountId)).map(keyToMessage) };
    }),
    revokeKey: unary(logger, async ({ id }, apiKey) => {
      await revokeKey(context.keys, await access.caller(apiKey), id, onRevoked);
      return {};
    }),
  };
}

function keyToMessage(key: ApiKey): Key {
  return {
    id: key.id, name: key.name, scope: KeyScope[key.scope], endpointIds: key.endpointIds, createTime: key.createdAt,
    revokeTime: key.revokedAt ?? undefined,
  };
}
