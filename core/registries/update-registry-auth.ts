/** Replaces username and password of credentials. Workers that run already keep what they were started with. */
import type { Actor } from '../domain/access.ts';
import { checkRegistryCredentials, registryAuthNotFound } from '../domain/registry-auth.ts';
import type { RegistryAuth, RegistryCredentials } from '../domain/registry-auth.ts';
import type { RegistryContext } from './context.ts';

/** NOT_FOUND, or INVALID_REQUEST: a field is out of range. */
export async function updateRegistryAuth(
  { registryAuths, seal }: Omit<RegistryContext, 'random'>, actor: Actor, id: string, credentials: RegistryCredentials,
): Promise<RegistryAuth> {
  checkRegistryCredentials(credentials);
  const updated = await registryAuths.update(id, actor, seal(id, credentials));
  if (!updated) throw registryAuthNotFound(id);
  return updated;
}
