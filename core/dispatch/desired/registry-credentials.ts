/**
 * Registry credentials on their way into the store and out to agents: a RegistryCredentials message, sealed in between.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import type { Logger } from '@slipway/kit/log/logger';
import { RegistryCredentials } from '@slipway/proto/gen/slipway/v1/agent_service';
import { registryCredentialsIdentity } from '../../domain/settings/sealed-identity.ts';

/** Seals the secrets of the registry auth with this id. */
export function sealRegistryCredentials(
  sealer: Sealer,
  registryAuthId: string,
  { username, password }: Omit<RegistryCredentials, 'name'>,
): Buffer {
  return sealer.seal(
    RegistryCredentials.encode({ username, password, name: '' }).finish(),
    registryCredentialsIdentity(registryAuthId),
  );
}

/**
 * Opens them for an agent. Undefined when they do not open, which is logged: one account's secrets must not keep
 * others' workers waiting.
 */
export function openRegistryCredentials(
  sealer: Sealer,
  logger: Logger,
  registryAuthId: string,
  sealed: Uint8Array,
): RegistryCredentials | undefined {
  try {
    return RegistryCredentials.decode(sealer.open(sealed, registryCredentialsIdentity(registryAuthId)));
  } catch (error) {
    logger.error({ err: error, registryAuthId }, 'registry credentials cannot be decrypted');
    return undefined;
  }
}
