/** Locks registry credentials for transactions that store a reference to them. */
import { and, eq } from '@slipway/drizzle/orm';
import { registryAuth } from '@slipway/drizzle/schema/registry-auth';
import { unknownRegistryAuth } from '../../domain/resources/registry-auth.ts';
import type { Transaction } from '../sql/database.ts';

/**
 * Locks credentials against deletion until the transaction ends. A transaction that stores a reference to them must
 * call this. Null: no credentials, which is allowed. Throws INVALID_REQUEST if they are not in this account.
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
