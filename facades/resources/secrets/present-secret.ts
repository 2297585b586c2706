/** Contract secret to public record. */
import type { Secret } from '@slipway/proto/gen/slipway/v1/secret_service';
import { CoreError } from '@slipway/proto/wire/reason';

/** A secret as it is answered: without its value. */
interface SecretRecord {
  id: string;
  name: string;
  /** Null: none. */
  description: string | null;
  createdAt: string;
  /** Time at which the value was set last. */
  valueLastUpdatedAt: string | null;
  /** Templates, endpoints and pods that mention it: the first ones. */
  usedBy: { kind: string; id: string; name: string }[];
  /** Number of all that mention it. */
  usedByCount: number;
}

/** Returns the public record. */
export function presentSecret(secret: Secret | undefined): SecretRecord {
  if (secret === undefined) throw new CoreError('INTERNAL', 'core answered without a secret');
  const { id, name, description, createTime, valueSetTime, users, userCount } = secret;
  return {
    id,
    name,
    description: description === '' ? null : description,
    createdAt: createTime!.toISOString(),
    valueLastUpdatedAt: valueSetTime?.toISOString() ?? null,
    usedBy: users,
    usedByCount: userCount,
  };
}
