/** Creates, reads, changes and deletes secrets of an account. Never returns a value. */

import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import type { Secret, SecretUse } from '../domain/resources/secret.ts';
import {
  checkSecretDescription,
  checkSecretName,
  checkSecretValue,
  secretNotFound,
} from '../domain/resources/secret.ts';
import { invalid } from '../domain/settings/fields.ts';
import type { DueStarts } from '../store/resources/secret-users.ts';
import type { Page, PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';

const ID_LENGTH = 12;

/** A secret with the resources that mention it. */
export interface SecretView extends Secret {
  use: SecretUse;
}

/** Dependencies of the use cases of secrets. */
export interface SecretContext extends Pick<Stores, 'secrets' | 'creations'> {
  random: Random;
  /** Returns the encrypted value of the secret with this id. */
  seal(accountId: string, id: string, value: string): Buffer;
  /** Called when workers of these endpoints may be replaced. Triggers scaling, here and on other replicas. */
  onChanged(endpointIds: readonly string[]): void;
  /** Called when the desired state of these machines changed. */
  onDesired(machineIds: readonly string[]): void;
}

/** Fields of a new secret. */
interface SecretFields {
  name: string;
  value: string;
  description: string;
}

/** A change. `undefined`: the field stays. */
interface SecretChanges {
  value: string | undefined;
  description: string | undefined;
}

/**
 * Stores a secret. Workloads that could not start without it are tried again at once. Throws NAME_TAKEN if the account
 * has a secret of this name, INVALID_REQUEST if a field is out of range or the account has as many as it may.
 * RepeatedCreation: `key` was used before.
 */
export async function createSecret(
  context: Omit<SecretContext, 'creations'>,
  actor: Actor,
  { name, value, description }: SecretFields,
  key?: CreationKey,
): Promise<SecretView> {
  checkSecretName(name);
  checkSecretValue(value);
  checkSecretDescription(description);
  const id = context.random.id(ID_LENGTH);
  const valueSealed = context.seal(actor.accountId, id, value);
  const made = await context.secrets.create(actor, { id, name, description, valueSealed }, key);
  announce(context, made);
  return withUse(context, made.secret);
}

/** Returns a secret without its value. Throws NOT_FOUND if it is not in this account. */
export async function getSecret(
  context: Pick<SecretContext, 'secrets'>,
  accountId: string,
  id: string,
): Promise<SecretView> {
  const found = await context.secrets.get(id, accountId);
  if (!found) throw secretNotFound(id);
  return withUse(context, found);
}

/** Returns a page of the secrets of an account without their values. */
export async function listSecrets(
  { secrets }: Pick<SecretContext, 'secrets'>,
  accountId: string,
  page: PageRequest,
): Promise<Page<SecretView>> {
  const { entries, next } = await secrets.list(accountId, page);
  const uses = await secrets.usesOf(
    accountId,
    entries.map(({ name }) => name),
  );
  return { entries: entries.map((entry) => ({ ...entry, use: uses.get(entry.name) ?? NO_USE })), next };
}

/**
 * Changes the value or the description of a secret. Running workers and pods keep the previous value; workloads that
 * could not start are tried again at once if the value changes. Throws NOT_FOUND, or INVALID_REQUEST if a field is out
 * of range or none is set.
 */
export async function updateSecret(
  context: Omit<SecretContext, 'random' | 'creations'>,
  actor: Actor,
  id: string,
  { value, description }: SecretChanges,
): Promise<SecretView> {
  if (value === undefined && description === undefined) throw invalid('value or description must be set');
  if (value !== undefined) checkSecretValue(value);
  if (description !== undefined) checkSecretDescription(description);
  const updated = await context.secrets.update(id, actor, {
    ...(value !== undefined && { valueSealed: context.seal(actor.accountId, id, value) }),
    ...(description !== undefined && { description }),
  });
  if (!updated) throw secretNotFound(id);
  announce(context, updated);
  return withUse(context, updated.secret);
}

/** Deletes a secret, also while environments mention it. Throws NOT_FOUND if it is not in this account. */
export async function deleteSecret(
  { secrets }: Pick<SecretContext, 'secrets'>,
  actor: Actor,
  id: string,
): Promise<void> {
  if (!(await secrets.remove(id, actor))) throw secretNotFound(id);
}

const NO_USE: SecretUse = { users: [], count: 0 };

function announce(
  { onChanged, onDesired }: Pick<SecretContext, 'onChanged' | 'onDesired'>,
  { endpointIds, machineIds }: DueStarts,
): void {
  if (endpointIds.length > 0) onChanged(endpointIds);
  if (machineIds.length > 0) onDesired(machineIds);
}

async function withUse({ secrets }: Pick<SecretContext, 'secrets'>, secret: Secret): Promise<SecretView> {
  const uses = await secrets.usesOf(secret.accountId, [secret.name]);
  return { ...secret, use: uses.get(secret.name) ?? NO_USE };
}
