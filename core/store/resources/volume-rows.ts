/** Network volumes that somebody else's transaction names. */
import { and, asc, eq, inArray } from '@slipway/drizzle/orm';
import { networkVolume } from '@slipway/drizzle/schema/network-volume';
import type { NetworkVolume } from '../../domain/resources/volume.ts';
import type { Transaction } from '../sql/database.ts';

/**
 * Those of these volumes that the account has, locked against deletion until the transaction ends: who stores a
 * reference to a volume reads it through this in the same transaction.
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
