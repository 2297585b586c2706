/** What a key may do. Pure: who holds the key, what was asked, yes or no with the reason. */
import { DomainError } from './errors.ts';

/** What a key may do at all. ROOT is the operator's key from the configuration and is never stored. */
export type Scope = 'ALL' | 'READ_ONLY' | 'AGENT' | 'ROOT';

/** The holder of a key. */
export interface Caller {
  /** Owner; empty for ROOT. */
  accountId: string;
  /** The key; `root` for ROOT. */
  keyId: string;
  scope: Scope;
  /** Only these endpoints; empty = all of the account. */
  endpointIds: readonly string[];
}

/** What a call wants to do. */
export interface Wish {
  /** The endpoint it names. */
  endpointId?: string;
  /** It changes something. */
  write?: boolean;
}

/** The operator. */
export const ROOT_CALLER: Caller = { accountId: '', keyId: 'root', scope: 'ROOT', endpointIds: [] };

/** One text for every refusal of a key, so that nobody learns which keys exist. */
export const UNAUTHORIZED_TEXT = 'The API key is missing, unknown, revoked or not permitted to do this. '
  + 'Send it as `Authorization: Bearer <key>`.';

/** Fails with UNAUTHORIZED unless the key may do this in its own account. Whether the endpoint exists there is for the caller to check. */
export function permit(caller: Caller, wish: Wish): void {
  const agent = caller.scope === 'AGENT';
  const readOnly = caller.scope === 'READ_ONLY' && wish.write === true;
  if (agent || readOnly || isElsewhere(caller, wish)) throw unauthorized();
}

/** A key for some endpoints may read what is about the whole account, but change nothing outside of its endpoints. */
function isElsewhere({ endpointIds }: Caller, { endpointId, write }: Wish): boolean {
  if (endpointIds.length === 0) return false;
  return endpointId === undefined ? write === true : !endpointIds.includes(endpointId);
}

/** The refusal of a key. */
export function unauthorized(): DomainError {
  return new DomainError('UNAUTHORIZED', UNAUTHORIZED_TEXT);
}

/** The refusal of an endpoint that is not in the caller's account, whether it exists elsewhere or not. */
export function endpointNotFound(endpointId: string): DomainError {
  return new DomainError('ENDPOINT_NOT_FOUND', `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))} in this account.`);
}
