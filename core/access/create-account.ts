/** Creates an account. */
import { unauthorized } from '../domain/access.ts';
import type { Caller } from '../domain/access.ts';
import { checkName } from '../domain/fields.ts';
import type { Stores } from '../store/storage.ts';
import { base62 } from './key-text.ts';

/**
 * Answers its id, `user_` and 27 letters and digits; the same name again answers the first account. UNAUTHORIZED: only the operator makes
 * accounts. INVALID_REQUEST: bad name.
 */
export async function createAccount(accounts: Stores['accounts'], caller: Caller, name: string): Promise<string> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  checkName('name', name);
  return accounts.create(`user_${base62(27)}`, caller.keyId, name);
}
