/** What a key may do. Pure: who holds the key, what was asked, yes or no with the reason. */
import { DomainError } from '../settings/errors.ts';

/** What a key may do at all. ROOT is the operator's key from the configuration and is never stored. */
export type Scope = 'ALL' | 'READ_ONLY' | 'RESTRICTED' | 'AGENT' | 'ROOT';

/** A part of the API that a key can be restricted to. */
export type Api = 'MANAGEMENT' | 'JOBS';

/** What a restricted key may do with one of them. */
export type Permission = 'NONE' | 'READ' | 'READ_WRITE';

/** The holder of a key. */
export interface Caller {
  /** Owner; empty for ROOT and for AGENT, which belong to the installation. */
  accountId: string;
  /** The key; `root` for ROOT. */
  keyId: string;
  scope: Scope;
  /** Only these endpoints; empty = all of the account. */
  endpointIds: readonly string[];
  /** Looked at for RESTRICTED only. */
  permissions: Readonly<Record<Api, Permission>>;
  /** Of AGENT: the machine that it speaks for. `undefined` if it was not used yet. */
  machineId?: string | undefined;
  /** Most requests of its account to the job API in 10 s, which facades count; absent: no limit. */
  requestQuota?: number;
}

/** Who changes something, as the audit trail names him: a permitted call's grant is one. */
export interface Actor {
  /** Owner of what is changed. */
  accountId: string;
  /** The key that was used; `root` for the operator's. */
  keyId: string;
}

/** Stands for the key in an event that another account caused: whose it was is not told. */
export const OTHER_ACCOUNT = 'another-account';

/** What a call wants to do. */
export interface AccessRequest {
  /** The part of the API it belongs to. */
  api: Api;
  /** The endpoint it names. */
  endpointId?: string;
  /** It changes something. */
  write?: boolean;
}

/** What keys of other scopes carry. */
export const NO_PERMISSIONS: Caller['permissions'] = { MANAGEMENT: 'NONE', JOBS: 'NONE' };

/** The operator. */
export const ROOT_CALLER: Caller = {
  accountId: '',
  keyId: 'root',
  scope: 'ROOT',
  endpointIds: [],
  permissions: NO_PERMISSIONS,
};

/** One text for every refusal of a key, so that nobody learns which keys exist. */
const UNAUTHORIZED_TEXT =
  'The API key is missing, unknown, revoked or not permitted to do this. ' +
  'Send it as `Authorization: Bearer <key>`.';

/**
 * Fails with UNAUTHORIZED unless the key may do this in its own account. Whether the endpoint exists there is for the
 * caller to check.
 */
export function permit(caller: Caller, request: AccessRequest): void {
  const permission = permissionOf(caller, request.api);
  const tooLittle = permission === 'NONE' || (permission === 'READ' && request.write === true);
  if (tooLittle || isElsewhere(caller, request)) throw unauthorized();
}

/** May do everything in its account: only such keys make keys and read the audit trail. The operator may too. */
export function isUnlimited({ scope, endpointIds }: Caller): boolean {
  return scope === 'ROOT' || (scope === 'ALL' && endpointIds.length === 0);
}

function permissionOf({ scope, permissions }: Caller, api: Api): Permission {
  switch (scope) {
    case 'ALL':
    case 'ROOT':
      return 'READ_WRITE';
    case 'READ_ONLY':
      return 'READ';
    case 'RESTRICTED':
      return permissions[api];
    case 'AGENT':
      return 'NONE';
  }
}

/** A key for some endpoints may read what is about the whole account, but change nothing outside of its endpoints. */
function isElsewhere({ endpointIds }: Caller, { endpointId, write }: AccessRequest): boolean {
  if (endpointIds.length === 0) return false;
  return endpointId === undefined ? write === true : !endpointIds.includes(endpointId);
}

/** The refusal of a key. */
export function unauthorized(): DomainError {
  return new DomainError('UNAUTHORIZED', UNAUTHORIZED_TEXT);
}

/** The refusal of an endpoint that is not in the caller's account, whether it exists elsewhere or not. */
export function endpointNotFound(endpointId: string): DomainError {
  return new DomainError(
    'ENDPOINT_NOT_FOUND',
    `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))} in this account.`,
  );
}
