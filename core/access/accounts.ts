/** Reads and changes accounts: a key's own account, and all accounts for the operator. */

import type { Random } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { isUnlimited, unauthorized } from '../domain/accounts/permission.ts';
import type { Quota } from '../domain/accounts/quota.ts';
import { checkQuota } from '../domain/accounts/quota.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkName, invalid } from '../domain/settings/fields.ts';
import type { Account } from '../store/accounts/account-store.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';
import { base62 } from './key-text.ts';

const PUBLIC_KEY_LENGTH_MAX = 16_384;

/**
 * Creates an account. Returns its id: `user_` and 27 letters and digits. If the name exists, returns the existing
 * account. Throws UNAUTHORIZED if the caller is not the operator. INVALID_REQUEST: the name is invalid.
 */
export async function createAccount(
  accounts: Stores['accounts'],
  random: Random,
  caller: Caller,
  name: string,
): Promise<string> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  checkName('name', name);
  return accounts.create(`user_${base62(random, 27)}`, caller.keyId, name);
}

/** Returns an account. Any key of the account may read it, and the operator may read any account. */
export async function getAccount(accounts: Stores['accounts'], accountId: string): Promise<Account> {
  return found(await accounts.get(accountId));
}

/**
 * Returns a page of the accounts, or all of them by name if no page is given. UNAUTHORIZED: the caller is not the
 * operator.
 */
export async function listAccounts(
  accounts: Stores['accounts'],
  { scope }: Caller,
  page: PageRequest | undefined,
): Promise<Page<Account>> {
  if (scope !== 'ROOT') throw unauthorized();
  return page ? accounts.page(page) : { entries: await accounts.list(), next: undefined };
}

/**
 * Sets the quota of an account. Throws UNAUTHORIZED if the caller is not the operator. INVALID_REQUEST: a number is out
 * of range. NOT_FOUND: there is no such account.
 */
export async function setQuota(
  accounts: Stores['accounts'],
  caller: Caller,
  accountId: string,
  quota: Quota,
): Promise<Account> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  checkQuota(quota);
  return found(await accounts.setQuota({ accountId, keyId: caller.keyId }, quota));
}

/**
 * Sets the SSH key of the account. Empty: removes it. Throws INVALID_REQUEST if it is too long. UNAUTHORIZED: the
 * caller's key is restricted.
 */
export async function updateAccount(accounts: Stores['accounts'], caller: Caller, publicKey: string): Promise<Account> {
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
