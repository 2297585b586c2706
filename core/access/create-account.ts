/** Creates an account. */
import { checkName } from '../domain/endpoint.ts';
import type { AccountStore } from '../store/account-store.ts';
import { base62 } from './key-text.ts';

/** Answers its id, `user_` and 27 letters and digits; the same name again answers the first account. INVALID_REQUEST: bad name. */
export async function createAccount(accounts: AccountStore, name: string): Promise<string> {
  checkName('name', name);
  return accounts.create(`user_${base62(27)}`, name);
}
