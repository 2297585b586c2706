/** What the use cases of registry credentials work with. */
import type { RegistryCredentials } from '../domain/registry-auth.ts';
import type { Random } from '../runtime/clock.ts';
import type { RegistryAuthStore } from '../store/registry-auth-store.ts';

export interface RegistryContext {
  registryAuths: RegistryAuthStore;
  random: Random;
  /** Secrets as they are stored for the registry auth with this id. */
  seal(id: string, credentials: RegistryCredentials): Buffer;
}
