/** The caller's own account. */
import { isUnlimited, unauthorized } from '../domain/access.ts';
import type { Caller } from '../domain/access.ts';
import { invalid } from '../domain/endpoint.ts';
import { DomainError } from '../domain/errors.ts';
import type { Account, AccountStore } from '../store/account-store.ts';

const PUBLIC_KEY_LENGTH_MAX = 16_384;

/** Any key of the account may read it. */
export async function getAccount(accounts: AccountStore, { accountId }: Caller): Promise<Account> {
  return found(await accounts.get(accountId));
}

/** Sets the SSH key of the account; empty: none. INVALID_REQUEST: too long. UNAUTHORIZED: the key may not do everything. */
export async function updateAccount(accounts: AccountStore, caller: Caller, publicKey: string): Promise<Account> {
  if (!isUnlimited(caller)) throw unauthorized();
  if (publicKey.length > PUBLIC_KEY_LENGTH_MAX || publicKey.includes('\0')) {
    throw invalid(`public_key must be at most ${PUBLIC_KEY_LENGTH_MAX} characters without NUL`);
  }
  return found(await accounts.setPublicKey(caller, publicKey));
}

function found(account: Account | undefined): Account {
  if (!account) throw new DomainError('NOT_FOUND', 'There is no such account.');
  return account;
}
