/** Authorizes calls that concern a whole account rather than one endpoint. */
import type { Access, Grant } from '../../access/access.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import { unauthorized } from '../../domain/accounts/permission.ts';
import { DomainError } from '../../domain/settings/errors.ts';

/**
 * Returns the grant of such a call. The operator's key belongs to no account and is rejected with a text that says so.
 */
export async function ownAccount(access: Access, apiKey: string, write: boolean): Promise<Grant> {
  const grant = await access.check(apiKey, { api: 'MANAGEMENT', write });
  if (grant.accountId === '') {
    throw new DomainError(
      'UNAUTHORIZED',
      'The root key belongs to no account; use a key of the account that is meant.',
    );
  }
  return grant;
}

/**
 * Returns the account of a call that the operator may make for any account. Empty: all accounts, if the operator named
 * none. Throws UNAUTHORIZED if another caller named an account that is not its own.
 */
export async function namedAccount(
  access: Access,
  apiKey: string,
  named = '',
): Promise<{ accountId: string; caller: Caller }> {
  const caller = await access.caller(apiKey);
  if (caller.scope === 'ROOT') return { accountId: named, caller };
  const { accountId } = await ownAccount(access, apiKey, false);
  if (named !== '' && named !== accountId) throw unauthorized();
  return { accountId, caller };
}
