/** Locks network volumes for transactions that store a reference to them. */
import { and, asc, eq, inArray } from '@slipway/drizzle/orm';
import { networkVolume } from '@slipway/drizzle/schema/network-volume';
import type { NetworkVolume } from '../../domain/resources/volume.ts';
import type { Transaction } from '../sql/database.ts';

/**
 * Returns which of the given volumes are in the account, locked against deletion until the transaction ends. A
 * transaction that stores a reference to a volume must read it through this function.
 */
export async function holdVolumes(
  tx: Transaction,
  accountId: string,
  ids: readonly string[],
): Promise<NetworkVolume[]> {
  if (ids.length === 0) return [];
  return tx
    .select()
    .from(networkVolume)
    .where(and(eq(networkVolume.accountId, accountId), inArray(networkVolume.id, [...ids])))
    .orderBy(asc(networkVolume.id))
    .for('share');
}
