/** What the use cases of registry credentials work with. */
import type { RegistryCredentials } from '../domain/registry-auth.ts';
import type { Random } from '../runtime/clock.ts';
import type { Stores } from '../store/storage.ts';

export interface RegistryContext {
  registryAuths: Stores['registryAuths'];
  random: Random;
  /** Secrets as they are stored for the registry auth with this id. */
  seal(id: string, credentials: RegistryCredentials): Buffer;
}
