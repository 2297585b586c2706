/** Ids that callers choose for new resources, so that clients that know them elsewhere find them here. */

import type { Caller } from '../accounts/permission.ts';
import { isUnlimited, unauthorized } from '../accounts/permission.ts';
import { DomainError } from '../settings/errors.ts';
import { invalid } from '../settings/fields.ts';

/** Seconds after its deletion for which the id of an endpoint is not given again: caches and workers forget it. */
export const ENDPOINT_ID_REST_SECONDS = 3_600;

/** Throws INVALID_REQUEST if an id does not have the form of generated ids. */
export function checkWantedId(id: string, length: number): void {
  if (id.length !== length || !/^[a-z0-9]+$/.test(id))
    throw invalid(`wanted_id must be ${length} lowercase letters and digits`);
}

/** Throws UNAUTHORIZED if the caller wants an id and may not choose one. */
export function mayWantId(caller: Caller, wantedId: string | undefined): void {
  if (wantedId !== undefined && !isUnlimited(caller)) throw unauthorized();
}

/** Returns the error for an id that is not free. It does not say whose it is. */
export function idTaken(id: string, what: 'endpoint' | 'template'): DomainError {
  const lately = what === 'endpoint' ? ', or had it within the last hour' : '';
  return new DomainError('NAME_TAKEN', `The id ${id} is not free: another ${what} has it${lately}.`);
}
