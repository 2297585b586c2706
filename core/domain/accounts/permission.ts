/** Permissions of API keys: decides whether a caller may make a request, and why not. Pure. */
import { DomainError } from '../settings/errors.ts';

/** Scope of a key. ROOT is the operator's key from the configuration and is never stored. */
export type Scope = 'ALL' | 'READ_ONLY' | 'RESTRICTED' | 'AGENT' | 'ROOT';

/** A part of the API that a key can be restricted to. */
type Api = 'MANAGEMENT' | 'JOBS';

/** Permission of a RESTRICTED key for one part of the API. */
export type Permission = 'NONE' | 'READ' | 'READ_WRITE';

/** The holder of a key. */
export interface Caller {
  /** Account that owns the key. Empty for ROOT and AGENT, which belong to the installation. */
  accountId: string;
  /** Id of the key; `root` for ROOT. */
  keyId: string;
  scope: Scope;
  /** Endpoints that the key is limited to. Empty: all endpoints of the account. */
  endpointIds: readonly string[];
  /** Checked for RESTRICTED keys only. */
  permissions: Readonly<Record<Api, Permission>>;
  /** For AGENT: the machine that uses the key. `undefined` if it was not used yet. */
  machineId?: string | undefined;
  /** Most requests of the account to the job API in 10 s, which facades count. Absent: no limit. */
  requestQuota?: number;
}

/** Author of a change, as the audit trail names it. The grant of a permitted call is one. */
export interface Actor {
  /** Account that owns the changed resource. */
  accountId: string;
  /** The key that was used; `root` for the operator's. */
  keyId: string;
}

/** Replaces the key id in an event that another account caused: the other account's key is not shown. */
export const OTHER_ACCOUNT = 'another-account';

/** A request to authorize. */
export interface AccessRequest {
  /** Part of the API that the call belongs to. */
  api: Api;
  /** The named endpoint. Absent if the call names none. */
  endpointId?: string;
  /** True if the call changes something. Default: false. */
  write?: boolean;
}

/** Permissions of keys that are not RESTRICTED. */
export const NO_PERMISSIONS: Caller['permissions'] = { MANAGEMENT: 'NONE', JOBS: 'NONE' };

/** The operator. */
export const ROOT_CALLER: Caller = {
  accountId: '',
  keyId: 'root',
  scope: 'ROOT',
  endpointIds: [],
  permissions: NO_PERMISSIONS,
};

/** One text for every rejection of a key, so that it does not reveal which keys exist. */
const UNAUTHORIZED_TEXT =
  'The API key is missing, unknown, revoked or not permitted to do this. ' +
  'Send it as `Authorization: Bearer <key>`.';

/**
 * Throws UNAUTHORIZED unless the key may make this request in its own account. The caller must check that the endpoint
 * exists there.
 */
export function permit(caller: Caller, request: AccessRequest): void {
  const permission = permissionOf(caller, request.api);
  const tooLittle = permission === 'NONE' || (permission === 'READ' && request.write === true);
  if (tooLittle || isElsewhere(caller, request)) throw unauthorized();
}

/**
 * Returns true if the key may do everything in its account. Only such keys, and the operator's, may create keys and
 * read the audit trail.
 */
export function isUnlimited({ scope, endpointIds }: Caller): boolean {
  return scope === 'ROOT' || (scope === 'ALL' && endpointIds.length === 0);
}

/**
 * Returns true if the key sees values of environment variables, which may be secret: the key may change resources.
 * Others see names only.
 */
export function seesEnvValues(caller: Caller): boolean {
  return permissionOf(caller, 'MANAGEMENT') === 'READ_WRITE';
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

/**
 * Returns true if the request is outside the endpoints of the key. A key for some endpoints may read data of the whole
 * account, but change nothing outside its endpoints.
 */
function isElsewhere({ endpointIds }: Caller, { endpointId, write }: AccessRequest): boolean {
  if (endpointIds.length === 0) return false;
  return endpointId === undefined ? write === true : !endpointIds.includes(endpointId);
}

/** Returns the error for a key that is unknown or not permitted. */
export function unauthorized(): DomainError {
  return new DomainError('UNAUTHORIZED', UNAUTHORIZED_TEXT);
}

/**
 * Returns the error for an endpoint that is not in the caller's account. The same whether or not it exists in another
 * account.
 */
export function endpointNotFound(endpointId: string): DomainError {
  return new DomainError(
    'ENDPOINT_NOT_FOUND',
    `There is no endpoint ${JSON.stringify(endpointId.slice(0, 64))} in this account.`,
  );
}
