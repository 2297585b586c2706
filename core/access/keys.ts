/** API keys that are there: list, revoke. */

import type { Caller } from '../domain/accounts/permission.ts';
import { isUnlimited, unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { ApiKey } from '../store/accounts/api-key-store.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';

/**
 * Lists API keys. Oldest first, revoked ones included. `only`: the endpoints that a restricted key may see; it sees the
 * keys for these and for nothing else, because the others name more. Empty = all. `accountId`: empty = those of
 * machines, undefined = those of everybody.
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
 * Revokes an API key. It stops working everywhere within 5 s, where the notice arrives at once. NOT_FOUND: no such key
 * in the caller's account.
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
