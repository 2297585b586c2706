/** Keys of machines: who may speak for which. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Access } from './access.ts';

/**
 * The holder of a key of a machine. UNAUTHORIZED: another kind of key; not even the operator's speaks for a machine.
 */
export async function agentOf(access: Access, apiKey: string): Promise<Caller> {
  const caller = await access.caller(apiKey);
  if (caller.scope !== 'AGENT') throw unauthorized();
  return caller;
}

/** The machine that a key belongs to: it answers for the attempts of that machine and for no others. */
export async function machineOf(access: Access, apiKey: string): Promise<string> {
  const { machineId } = await agentOf(access, apiKey);
  if (machineId === undefined)
    throw new DomainError('UNAUTHORIZED', 'No machine has joined with this key yet: open a Session first.');
  return machineId;
}
