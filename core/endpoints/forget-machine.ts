/** Deletes a machine that will not come back. */

import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { EndpointContext } from './endpoint-context.ts';

/** Longest wait for the end of a machine's lease, in milliseconds: keys are cached for 5 s, a lease lasts 10 s. */
const REMOVAL_MS_MAX = 25_000;
const REMOVAL_PERIOD_MS = 500;

/**
 * Deletes a machine: revokes its key, counts its workers as lost and deletes its pods. The singleton task that rescues
 * attempts requeues the jobs it held. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there is no
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

/**
 * Deletes a machine, also while it is connected: revokes its keys, which ends its session, and waits for the end of its
 * lease. Throws as `forgetMachine` does; IN_USE if its lease does not end.
 */
export async function removeMachine(
  context: Pick<EndpointContext, 'machines' | 'onChanged' | 'onKeysChanged'>,
  caller: Caller,
  id: string,
  clock: Clock,
): Promise<{ lostWorkers: number; deletedPods: number }> {
  if (caller.scope !== 'ROOT') throw unauthorized();
  const revoked = await context.machines.revokeKeys(id, caller.keyId);
  if (!revoked) throw machineNotFound(id);
  context.onKeysChanged(revoked);
  const untilMs = clock.monotonicMs() + REMOVAL_MS_MAX;
  for (;;) {
    try {
      return await forgetMachine(context, caller, id);
    } catch (error) {
      const isLeased = error instanceof DomainError && error.reason === 'IN_USE';
      if (!isLeased || clock.monotonicMs() > untilMs) throw error;
      await delay(clock, REMOVAL_PERIOD_MS);
    }
  }
}

/** Returns the error for an unknown machine. */
export function machineNotFound(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no machine ${JSON.stringify(id.slice(0, 64))}.`);
}
