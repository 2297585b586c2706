/** Revokes an API key. */
import { isUnlimited, unauthorized } from '../domain/access.ts';
import type { Caller } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import type { Stores } from '../store/storage.ts';

/** It stops working everywhere within 5 s, where the notice arrives at once. NOT_FOUND: no such key in the caller's account. */
export async function revokeKey(keys: Stores['keys'], caller: Caller, id: string, onRevoked: (keyId: string) => void): Promise<void> {
  if (!isUnlimited(caller)) throw unauthorized();
  if (!(await keys.revoke(id, caller))) {
    throw new DomainError('NOT_FOUND', 'There is no such key in this account.');
  }
  onRevoked(id);
}
