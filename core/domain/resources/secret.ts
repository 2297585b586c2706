/** Secrets of an account: named values that environments refer to. Bounds, and the fields that their owner sees. */

import { DomainError } from '../settings/errors.ts';
import { checkText, invalid, NAME_LENGTH_MAX } from '../settings/fields.ts';

/** A stored secret, without its value. */
export interface Secret {
  id: string;
  accountId: string;
  name: string;
  description: string;
  createdAt: Date;
  /** Time at which the value was set last. */
  valueSetAt: Date;
}

/** A resource whose environment mentions a secret. */
export interface SecretUser {
  kind: 'TEMPLATE' | 'ENDPOINT' | 'POD';
  id: string;
  name: string;
}

/** Users of a secret: the first ones, and the number of all. */
export interface SecretUse {
  users: SecretUser[];
  count: number;
}

/** Most secrets of an account. */
export const SECRETS_MAX = 500;
/** Largest value in bytes: the longest value of a variable that Linux hands to a program. */
export const SECRET_VALUE_BYTES_MAX = 131_072;
/** Largest description in bytes. */
export const SECRET_DESCRIPTION_BYTES_MAX = 65_535;
/** Most users of a secret that are named. */
export const SECRET_USERS_NAMED_MAX = 20;

const NAME_FORM = /^[A-Za-z_][A-Za-z0-9_.\-/]*$/;
const RESERVED = /^runpod/i;

/** Throws INVALID_REQUEST unless a secret may have this name. */
export function checkSecretName(name: string): void {
  if (name.length === 0 || name.length > NAME_LENGTH_MAX)
    throw invalid(`name has ${name.length} characters, but must have 1 to ${NAME_LENGTH_MAX}`);
  if (!NAME_FORM.test(name))
    throw invalid('name must begin with a letter or _, and may have letters, digits and _ . - / after it');
  if (RESERVED.test(name)) throw invalid('name must not begin with RUNPOD, which is reserved');
}

/** Throws INVALID_REQUEST with the bound, never with the value. */
export function checkSecretValue(value: string): void {
  const bytes = Buffer.byteLength(value);
  if (bytes === 0 || bytes > SECRET_VALUE_BYTES_MAX) {
    throw invalid(
      `value has ${bytes} bytes, but must have 1 to ${SECRET_VALUE_BYTES_MAX}: ` +
        'no program can be started with a longer variable',
    );
  }
  checkText('value', value);
}

/** Throws INVALID_REQUEST if the description is too long. */
export function checkSecretDescription(description: string): void {
  const bytes = Buffer.byteLength(description);
  if (bytes > SECRET_DESCRIPTION_BYTES_MAX)
    throw invalid(`description has ${bytes} bytes, but may have ${SECRET_DESCRIPTION_BYTES_MAX}`);
  checkText('description', description);
}

/** Returns the error for a name that another secret of the account has. */
export function secretNameTaken(name: string): DomainError {
  return new DomainError(
    'NAME_TAKEN',
    `The account already has a secret called ${JSON.stringify(name)}; change that one, or choose another name.`,
  );
}

/** Returns the error for an account that has as many secrets as it may. */
export function tooManySecrets(): DomainError {
  return invalid(`the account has ${SECRETS_MAX} secrets, the maximum; delete an unused one`);
}

/**
 * Returns the error for a secret that is not in the caller's account. The same whether or not it exists in another
 * account.
 */
export function secretNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no secret ${JSON.stringify(id.slice(0, 64))} in this account.`);
}
