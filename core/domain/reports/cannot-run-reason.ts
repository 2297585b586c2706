/** Why no worker of an endpoint can ever start: no machine could take it, or a secret is missing. Pure. */

import type { SecretRefusal } from '../resources/secret-reference.ts';
import { secretRefusalChange, secretRefusalText } from '../resources/secret-reference.ts';
import type { PlacementRefusal } from '../scaling/placement-refusal.ts';

export interface CannotRunReason extends PlacementRefusal {
  /** Set if it is for want of a secret. Then the texts end with the remedy. */
  secret?: SecretRefusal;
}

/** Returns the reason for want of a secret. */
export function withoutSecret(secret: SecretRefusal): CannotRunReason {
  const refusal = `${secretRefusalText(secret)}: ${secretRefusalChange(secret)}`;
  return { refusal, refusalByMachine: refusal, secret };
}
