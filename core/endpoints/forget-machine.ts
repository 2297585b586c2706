/** Deletes a machine that will not come back. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { EndpointContext } from './endpoint-context.ts';

/**
 * Deletes a machine: revokes its key, counts its workers as lost and deletes its pods. The singleton task that rescues
 * attempts requeues those that it held. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there is no
 * such machine. IN_USE: its agent is connected, or was a moment ago and may still hold attempts.
 */
export async function forgetMachine(
  { machines, onChanged, onKeysChanged }: Pick<EndpointContext, 'machines' | 'onChanged' | 'onKeysChanged'>,
  caller: Caller,
  id: string,
): Promise<{ lostWorkers: number; deletedPods: number }> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  const forgotten = await machines.forget(id, caller.keyId);
  if (forgotten === 'unknown') throw machineNotFound(id);
  if (forgotten === 'leased') {
    throw new DomainError(
      'IN_USE',
      'The machine is connected, or was until a few seconds ago. Stop its agent, wait 10 s and try again.',
    );
  }
  onKeysChanged(forgotten.keyIds);
  onChanged(forgotten.endpointIds);
  return forgotten;
}

/** Returns the error for an unknown machine. */
export function machineNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no machine ${JSON.stringify(id.slice(0, 64))}.`);
}
