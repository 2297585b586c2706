/** Reads credentials for a container registry, without their secrets. */
import { registryAuthNotFound } from '../domain/registry-auth.ts';
import type { RegistryAuth } from '../domain/registry-auth.ts';
import type { RegistryContext } from './context.ts';

/** NOT_FOUND: not in this account. */
export async function getRegistryAuth(
  { registryAuths }: Pick<RegistryContext, 'registryAuths'>, accountId: string, id: string,
): Promise<RegistryAuth> {
  const found = await registryAuths.get(id, accountId);
  if (!found) throw registryAuthNotFound(id);
  return found;
}
