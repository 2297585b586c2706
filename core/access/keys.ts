/** Lists and revokes API keys. */

import type { Caller } from '../domain/accounts/permission.ts';
import { isUnlimited, unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { ApiKey } from '../store/accounts/api-key-store.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';

/**
 * Lists API keys, oldest first, revoked ones included. `only`: endpoints that a restricted key may see; it sees only
 * the keys for these, because other keys name more endpoints. Empty: all. `accountId`: empty for agent keys,
 * `undefined` for all keys.
 */
export async function listKeys(
  keys: Stores['keys'],
  accountId: string | undefined,
  only: readonly string[],
  page: PageRequest,
): Promise<Page<ApiKey>> {
  return keys.list(accountId, only, page);
}

/**
 * Revokes an API key. It stops working on every replica within 5 s, and at once where the notice arrives. Throws
 * NOT_FOUND if there is no such key in the caller's account.
 */
export async function revokeKey(
  keys: Stores['keys'],
  caller: Caller,
  id: string,
  onRevoked: (keyId: string) => void,
): Promise<void> {
  if (!isUnlimited(caller)) throw unauthorized();
  if (!(await keys.revoke(id, caller))) {
    throw new DomainError('NOT_FOUND', 'There is no such key in this account.');
  }
  onRevoked(id);
}
