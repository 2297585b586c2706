/** Creates an API key. */

import type { Random } from '@slipway/kit/time/clock';
import type { Caller, Scope } from '../domain/accounts/permission.ts';
import { endpointNotFound, isUnlimited, NO_PERMISSIONS, unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkName, checkTexts, invalid } from '../domain/settings/fields.ts';
import type { ApiKey } from '../store/accounts/api-key-store.ts';
import type { Stores } from '../store/storage.ts';
import { base62, hashKey, newKeyText } from './key-text.ts';

const ID_LENGTH = 20;

/** Fields of the new resource. */
export interface KeyRequest {
  name: string;
  scope: Exclude<Scope, 'ROOT'>;
  /** Endpoints that the key may use. Empty: all endpoints of the account. */
  endpointIds: string[];
  /** Permissions of a RESTRICTED key, `undefined` for other scopes. */
  permissions: Caller['permissions'] | undefined;
  /** Account that owns the key. Empty: the caller's. Always empty for AGENT: agent keys belong to the installation. */
  accountId: string;
  /** Agent key that the new one replaces. Empty: none. */
  replacesKeyId: string;
}

export type KeyContext = Pick<Stores, 'keys' | 'accounts' | 'endpoints'> & { random: Random };

/**
 * Creates a key. Returns it with its text, which is stored nowhere. Throws UNAUTHORIZED if a caller other than the
 * operator names another account or creates an agent key, or if the caller may not do everything in its account.
 * INVALID_REQUEST: an agent key with an account or endpoints. NOT_FOUND: no such account. ENDPOINT_NOT_FOUND: an
 * endpoint is not in that account.
 */
export async function createKey(
  context: KeyContext,
  caller: Caller,
  request: KeyRequest,
): Promise<{ key: ApiKey; secret: string }> {
  const { keys, random } = context;
  const root = caller.scope === 'ROOT';
  if (!isUnlimited(caller)) throw unauthorized();
  if (!root && (request.scope === 'AGENT' || (request.accountId !== '' && request.accountId !== caller.accountId)))
    throw unauthorized();
  checkName('name', request.name);
  checkTexts('endpoint_ids', request.endpointIds);
  if ((request.scope === 'RESTRICTED') !== (request.permissions !== undefined)) {
    throw invalid('permissions belong to keys of scope RESTRICTED, and only to them');
  }
  const secret = newKeyText(random, request.scope);
  const { name, scope, endpointIds, permissions = NO_PERMISSIONS } = request;
  const accountId = await ownerOf(context, caller, request);
  const replacesId = await replacedBy(context, request);
  const hash = Buffer.from(hashKey(secret), 'hex');
  const key = await keys.create(
    { id: base62(random, ID_LENGTH), accountId, name, scope, endpointIds, permissions, replacesId },
    hash,
    caller.keyId,
  );
  return { key, secret };
}

/** Returns the key that the new one replaces. Null: none. */
async function replacedBy({ keys }: KeyContext, { scope, replacesKeyId: id }: KeyRequest): Promise<string | null> {
  if (id === '') return null;
  if (scope !== 'AGENT')
    throw invalid('replaces_key_id is for keys of scope AGENT: other keys are valid beside others');
  checkTexts('replaces_key_id', [id]);
  const found = await keys.agentKey(id);
  if (!found || found.revokedAt)
    throw new DomainError(
      'NOT_FOUND',
      `There is no valid agent key ${JSON.stringify(id.slice(0, 64))}. A machine that joined by a token renews its ` +
        'certificate itself.',
    );
  return id;
}

/** Returns the account that will own the key. Empty: the installation. */
async function ownerOf({ accounts, endpoints }: KeyContext, caller: Caller, request: KeyRequest): Promise<string> {
  if (request.scope === 'AGENT') {
    if (request.accountId === '' && request.endpointIds.length === 0) return '';
    throw invalid(
      'account_id and endpoint_ids must be empty for a key of scope AGENT: machines belong to the installation',
    );
  }
  const accountId = request.accountId || caller.accountId;
  if (accountId === '') throw invalid('account_id is required with the root key: whose key shall it be?');
  if (caller.scope === 'ROOT' && !(await accounts.exists(accountId))) {
    throw new DomainError('NOT_FOUND', `There is no account ${JSON.stringify(accountId.slice(0, 64))}.`);
  }
  const named = request.endpointIds.length === 0 ? [] : await endpoints.byIds(request.endpointIds);
  for (const id of request.endpointIds) {
    if (!named.some((endpoint) => endpoint.id === id && endpoint.accountId === accountId)) throw endpointNotFound(id);
  }
  return accountId;
}
