/** Encodes old and new values of settings. */
import type { ReleaseValue as ValueMessage } from '@slipway/proto/gen/slipway/v1/endpoint_service';
import type { ReleaseValue } from '../../domain/resources/release-values.ts';

/** Returns the values by their fields. */
export function valuesToMessage(values: Readonly<Record<string, ReleaseValue>>): ValueMessage[] {
  return Object.entries(values).map(([field, { old, new: fresh }]) => ({
    field,
    oldJson: JSON.stringify(old) as string | undefined,
    newJson: JSON.stringify(fresh) as string | undefined,
  }));
}
