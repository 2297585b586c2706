/** Calls that are about a whole account rather than one endpoint. */
import type { Access, Verdict } from '../access/access.ts';
import { DomainError } from '../domain/errors.ts';

/** The verdict on such a call. The operator's key belongs to no account and is refused here with a text that says so. */
export async function ownAccount(access: Access, apiKey: string, write: boolean): Promise<Verdict> {
  const verdict = await access.check(apiKey, { api: 'MANAGEMENT', write });
  if (verdict.accountId === '') {
    throw new DomainError('UNAUTHORIZED', 'The root key belongs to no account; use a key of the account that is meant.');
  }
  return verdict;
}
