/** Stores credentials for a container registry. */
import type { Actor } from '../domain/access.ts';
import { checkName } from '../domain/fields.ts';
import { DomainError } from '../domain/errors.ts';
import { checkRegistryCredentials } from '../domain/registry-auth.ts';
import type { RegistryAuth, RegistryCredentials } from '../domain/registry-auth.ts';
import type { RegistryContext } from './context.ts';

const ID_LENGTH = 12;

/** NAME_TAKEN: the account has credentials of this name. INVALID_REQUEST: a field is out of range. */
export async function createRegistryAuth(
  { registryAuths, random, seal }: RegistryContext, actor: Actor, name: string, credentials: RegistryCredentials,
): Promise<RegistryAuth> {
  checkName('name', name);
  checkRegistryCredentials(credentials);
  const id = random.id(ID_LENGTH);
  const made = await registryAuths.create(id, actor, name, seal(id, credentials));
  if (!made) {
    throw new DomainError('NAME_TAKEN', `The account already has registry credentials called ${JSON.stringify(name)}; choose another name.`);
  }
  return made;
}
