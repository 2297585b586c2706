/** Contract registry credentials to public record. */
import type { RegistryAuth } from '../../../proto/gen/slipway/v1/registry_auth_service.ts';
import { CoreError } from '../../../proto/wire/reason.ts';
import type { RegistryAuthRecord } from './registry-auth-schemas.ts';

/** The public record. */
export function presentRegistryAuth(auth: RegistryAuth | undefined): RegistryAuthRecord {
  if (auth === undefined) throw new CoreError('INTERNAL', 'core answered without registry credentials');
  return { id: auth.id, name: auth.name };
}
