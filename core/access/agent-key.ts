/** Authorizes agent keys for their machine. */

import type { Caller } from '../domain/accounts/permission.ts';
import { unauthorized } from '../domain/accounts/permission.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { Access } from './access.ts';

/** Returns the holder of an agent key. Throws UNAUTHORIZED for any other kind of key, also for the operator's. */
export async function agentOf(access: Access, apiKey: string): Promise<Caller> {
  const caller = await access.caller(apiKey);
  if (caller.scope !== 'AGENT') throw unauthorized();
  return caller;
}

/** Returns the machine that a key belongs to. The key may act for the attempts of that machine only. */
export async function machineOf(access: Access, apiKey: string): Promise<string> {
  const { machineId } = await agentOf(access, apiKey);
  if (machineId === undefined)
    throw new DomainError('UNAUTHORIZED', 'No machine has joined with this key yet: open a Session first.');
  return machineId;
}
