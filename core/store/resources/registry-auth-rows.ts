/** Registry credentials that somebody else's transaction names. */
import { and, eq } from '@slipway/drizzle/orm';
import { registryAuth } from '@slipway/drizzle/schema/registry-auth';
import { unknownRegistryAuth } from '../../domain/resources/registry-auth.ts';
import type { Transaction } from '../sql/database.ts';

/**
 * Locks credentials against deletion until the transaction ends: who stores a reference to them calls this in the same
 * transaction. INVALID_REQUEST: they are not in this account. Null: nothing is named, which is fine.
 */
export async function holdRegistryAuth(tx: Transaction, accountId: string, id: string | null): Promise<void> {
  if (id === null) return;
  const rows = await tx
    .select({ id: registryAuth.id })
    .from(registryAuth)
    .where(and(eq(registryAuth.id, id), eq(registryAuth.accountId, accountId)))
    .for('share');
  if (rows.length === 0) throw unknownRegistryAuth(id);
}
