/** Creates, reads, replaces and deletes credentials for container registries. Never returns the secrets. */

import type { Random } from '@slipway/kit/time/clock';
import type { Actor } from '../domain/accounts/permission.ts';
import type { CreationKey } from '../domain/resources/creation-key.ts';
import type { RegistryAuth, RegistryCredentials } from '../domain/resources/registry-auth.ts';
import { checkRegistryCredentials, registryAuthNotFound } from '../domain/resources/registry-auth.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkName } from '../domain/settings/fields.ts';
import type { RegistryAuthUsers } from '../store/resources/registry-auth-store.ts';
import type { Stores } from '../store/storage.ts';

const ID_LENGTH = 12;

/** Dependencies of the use cases of registry credentials. */
export interface RegistryContext extends Pick<Stores, 'registryAuths' | 'creations'> {
  random: Random;
  /** Returns the encrypted secrets of the registry auth with this id. */
  seal(id: string, credentials: RegistryCredentials): Buffer;
  /** Called when workers of these endpoints may be replaced. Triggers scaling, here and on other replicas. */
  onChanged(endpointIds: readonly string[]): void;
  /** Called when the desired state of these machines changed. */
  onDesired(machineIds: readonly string[]): void;
}

/**
 * Stores credentials for a container registry. Throws NAME_TAKEN if the account has credentials of this name.
 * INVALID_REQUEST: a field is out of range. RepeatedCreation: `key` was used before.
 */
export async function createRegistryAuth(
  { registryAuths, random, seal }: Pick<RegistryContext, 'registryAuths' | 'random' | 'seal'>,
  actor: Actor,
  name: string,
  credentials: RegistryCredentials,
  key?: CreationKey,
): Promise<RegistryAuth> {
  checkName('name', name);
  checkRegistryCredentials(credentials);
  const id = random.id(ID_LENGTH);
  return registryAuths.create(id, actor, { name, credentialsSealed: seal(id, credentials) }, key);
}

/**
 * Returns credentials for a container registry, without their secrets. Throws NOT_FOUND if they are not in this
 * account.
 */
export async function getRegistryAuth(
  { registryAuths }: Pick<RegistryContext, 'registryAuths'>,
  accountId: string,
  id: string,
): Promise<RegistryAuth> {
  const found = await registryAuths.get(id, accountId);
  if (!found) throw registryAuthNotFound(id);
  return found;
}

/**
 * Replaces username and password of credentials. Running workers keep the previous ones; workloads that could not start
 * with those are retried at once. Throws NOT_FOUND, or INVALID_REQUEST if a field is out of range.
 */
export async function updateRegistryAuth(
  { registryAuths, seal, onChanged, onDesired }: Omit<RegistryContext, 'random' | 'creations'>,
  actor: Actor,
  id: string,
  credentials: RegistryCredentials,
): Promise<RegistryAuth> {
  checkRegistryCredentials(credentials);
  const updated = await registryAuths.update(id, actor, seal(id, credentials));
  if (!updated) throw registryAuthNotFound(id);
  onChanged(updated.endpointIds);
  onDesired(updated.machineIds);
  return updated.auth;
}

/**
 * Deletes credentials for a container registry. `clearTemplates`: removes them from the templates that use them first.
 * Throws NOT_FOUND, or IN_USE if templates or pods use them; the text names these.
 */
export async function deleteRegistryAuth(
  { registryAuths, onChanged }: Pick<RegistryContext, 'registryAuths' | 'onChanged'>,
  actor: Actor,
  id: string,
  clearTemplates: boolean,
): Promise<void> {
  const removal = await registryAuths.remove(id, actor, clearTemplates);
  if (!removal) throw registryAuthNotFound(id);
  if (!removal.removed) throw inUse(removal.usedBy);
  onChanged(removal.endpointIds);
}

function inUse({ templateIds, podIds }: RegistryAuthUsers): DomainError {
  const users = [...templateIds.map((id) => `template ${id}`), ...podIds.map((id) => `pod ${id}`)].join(', ');
  return new DomainError('IN_USE', `The registry credentials are used by ${users}; take them from there first.`);
}
