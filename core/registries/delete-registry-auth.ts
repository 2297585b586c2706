/** Deletes credentials for a container registry. */
import type { Actor } from '../domain/access.ts';
import { DomainError } from '../domain/errors.ts';
import { registryAuthNotFound } from '../domain/registry-auth.ts';
import type { RegistryAuthUsers } from '../store/registry-auth-store.ts';
import type { RegistryContext } from './context.ts';

/** NOT_FOUND, or IN_USE: templates or pods use them; the text names these. */
export async function deleteRegistryAuth(
  { registryAuths }: Pick<RegistryContext, 'registryAuths'>, actor: Actor, id: string,
): Promise<void> {
  const removal = await registryAuths.remove(id, actor);
  if (!removal) throw registryAuthNotFound(id);
  if (!removal.removed) throw inUse(removal.usedBy);
}

function inUse({ templateIds, podIds }: RegistryAuthUsers): DomainError {
  const users = [...templateIds.map((id) => `template ${id}`), ...podIds.map((id) => `pod ${id}`)].join(', ');
  return new DomainError('IN_USE', `The registry credentials are used by ${users}; take them from there first.`);
}
