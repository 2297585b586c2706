/** Credentials for a private container registry: bounds, and the fields that their owner sees. */

import { DomainError } from '../settings/errors.ts';
import { checkText, invalid } from '../settings/fields.ts';

/** Stored credentials, without their secrets. */
export interface RegistryAuth {
  id: string;
  accountId: string;
  name: string;
  createdAt: Date;
}

/** The secrets. Only stored encrypted, never returned, never logged. */
export interface RegistryCredentials {
  username: string;
  /** Password or token. */
  password: string;
}

const USERNAME_LENGTH_MAX = 1_024;
const PASSWORD_LENGTH_MAX = 16_384;

/** Throws INVALID_REQUEST with the field, never with its value. */
export function checkRegistryCredentials({ username, password }: RegistryCredentials): void {
  for (const [field, value, max] of [
    ['username', username, USERNAME_LENGTH_MAX],
    ['password', password, PASSWORD_LENGTH_MAX],
  ] as const) {
    if (value.length === 0 || value.length > max)
      throw invalid(`${field} has ${value.length} characters, but must have 1 to ${max}`);
    checkText(field, value);
  }
}

/**
 * Returns the error for credentials that are not in the caller's account. The same whether or not they exist in another
 * account.
 */
export function registryAuthNotFound(id: string): DomainError {
  return new DomainError(
    'NOT_FOUND',
    `There are no registry credentials ${JSON.stringify(id.slice(0, 64))} in this account.`,
  );
}

/** Returns the error for a name that other credentials of the account have. */
export function registryAuthNameTaken(name: string): DomainError {
  return new DomainError(
    'NAME_TAKEN',
    `The account already has registry credentials called ${JSON.stringify(name)}; choose another name.`,
  );
}

/** Returns the error for a field that names credentials which the account does not have. */
export function unknownRegistryAuth(id: string): DomainError {
  return invalid(
    `registry_auth_id: there are no registry credentials ${JSON.stringify(id.slice(0, 64))} in this account`,
  );
}
