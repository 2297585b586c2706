/** Contract registry credentials to public record. */
import type { RegistryAuth } from '@slipway/proto/gen/slipway/v1/registry_auth_service';
import { CoreError } from '@slipway/proto/wire/reason';
import type { RegistryAuthRecord } from './registry-auth-schemas.ts';

/** Returns the public record. */
export function presentRegistryAuth(auth: RegistryAuth | undefined): RegistryAuthRecord {
  if (auth === undefined) throw new CoreError('INTERNAL', 'core answered without registry credentials');
  return { id: auth.id, name: auth.name };
}
