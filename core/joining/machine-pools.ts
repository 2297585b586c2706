/** Lists, sets and deletes pools of machines. For the operator. */
import type { Caller } from '../domain/accounts/permission.ts';
import type { MachinePool, PoolFields } from '../domain/machines/machine-pool.ts';
import { checkPool, POOLS_MAX } from '../domain/machines/machine-pool.ts';
import { DomainError } from '../domain/settings/errors.ts';
import { checkText } from '../domain/settings/fields.ts';
import type { Stores } from '../store/storage.ts';
import { requireOperator } from './join-tokens.ts';

interface PoolContext extends Pick<Stores, 'pools'> {
  /** Called when machines can take other workers than before. */
  onCapacity(machineIds: readonly string[]): void;
}

/** Returns the pools by name. Throws UNAUTHORIZED if the caller is not the operator. */
export async function listPools({ pools }: Pick<PoolContext, 'pools'>, caller: Caller): Promise<MachinePool[]> {
  requireOperator(caller);
  return pools.list();
}

/**
 * Creates or changes a pool. Throws UNAUTHORIZED if the caller is not the operator. INVALID_REQUEST: a field is out of
 * range. IN_USE: there are too many pools.
 */
export async function setPool(
  { pools, onCapacity }: PoolContext,
  caller: Caller,
  name: string,
  change: Partial<PoolFields>,
): Promise<MachinePool> {
  requireOperator(caller);
  checkPool(name, change);
  const changed = await pools.set(name, change, caller.keyId);
  if (!changed) throw new DomainError('IN_USE', `There are ${POOLS_MAX} pools, and no more may be. Delete one.`);
  onCapacity(changed.machineIds);
  return changed.pool;
}

/**
 * Deletes a pool; its machines stay. Throws UNAUTHORIZED if the caller is not the operator. NOT_FOUND: there is no such
 * pool.
 */
export async function deletePool({ pools, onCapacity }: PoolContext, caller: Caller, name: string): Promise<void> {
  requireOperator(caller);
  checkText('name', name);
  const machineIds = await pools.delete(name, caller.keyId);
  if (!machineIds) {
    const asked = JSON.stringify(name.slice(0, 64));
    throw new DomainError('NOT_FOUND', `There is no pool ${asked} that was set; "slipway pools list" shows all.`);
  }
  onCapacity(machineIds);
}
