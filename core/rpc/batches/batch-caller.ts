/** Authorizes calls to files and batches, which belong to an account and are for keys that use its jobs. */
import type { Access } from '../../access/access.ts';
import type { BatchOwner } from '../../batches/batches.ts';
import type { Caller } from '../../domain/accounts/permission.ts';
import { permit, unauthorized } from '../../domain/accounts/permission.ts';

/**
 * Returns the caller of a call that names no endpoint. A key for some endpoints may make batches, which run on these
 * alone, and sees only its own.
 */
export async function batchCaller(access: Access, apiKey: string, write: boolean): Promise<BatchOwner> {
  const caller = await access.caller(apiKey);
  if (caller.accountId === '') throw unauthorized();
  const [endpointId] = caller.endpointIds;
  permit(caller, { api: 'JOBS', write, ...(endpointId !== undefined && { endpointId }) });
  return ownerOf(caller, caller.accountId);
}

/** Returns the caller of a call that names an endpoint, and the type of that endpoint. */
export async function endpointBatchCaller(access: Access, apiKey: string, endpointId: string, write: boolean) {
  const { caller, accountId, endpoint } = await access.check(apiKey, { api: 'JOBS', endpointId, write });
  return { owner: ownerOf(caller, accountId), type: endpoint.type };
}

function ownerOf({ keyId, endpointIds }: Caller, accountId: string): BatchOwner {
  const onlyKeyId = endpointIds.length > 0 ? keyId : '';
  return { actor: { accountId, keyId }, scope: { accountId, onlyKeyId }, endpointIds };
}
