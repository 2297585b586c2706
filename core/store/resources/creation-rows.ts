/** Claims Idempotency-Keys for transactions that create a resource. */
import { sql } from '@slipway/drizzle/orm';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { CREATION_KEY_SECONDS, keyReused, RepeatedCreation } from '../../domain/resources/creation-key.ts';
import type { Transaction } from '../sql/database.ts';

/**
 * Stores a key with the id of the resource that the transaction creates. Must be its first statement: another
 * transaction with the same key waits here until this one has ended. `undefined`: the creation has no key. Throws
 * RepeatedCreation, or IDEMPOTENCY_KEY_REUSED if the key came with another request.
 */
export async function claimCreation(tx: Transaction, key: CreationKey | undefined, subjectId: string): Promise<void> {
  if (!key) return;
  const { accountId, action, keyHash, bodyHash, previousBodyHash } = key;
  const claimed = await tx.execute(sql`
    INSERT INTO creation_key AS k (account_id, action, key_hash, body_hash, subject_id, expires_at)
    VALUES (${accountId}, ${action}, ${keyHash}, ${bodyHash}, ${subjectId},
      now() + make_interval(secs => ${CREATION_KEY_SECONDS}))
    ON CONFLICT (account_id, action, key_hash) DO UPDATE
      SET body_hash = excluded.body_hash, subject_id = excluded.subject_id, expires_at = excluded.expires_at
      WHERE k.expires_at <= now()
    RETURNING subject_id`);
  if (claimed.length > 0) return;
  const [earlier] = await tx.execute<{ subject_id: string; same: boolean }>(sql`
    SELECT subject_id, body_hash IN (${bodyHash}, ${previousBodyHash}) AS same FROM creation_key
    WHERE account_id = ${accountId} AND action = ${action} AND key_hash = ${keyHash}`);
  if (!earlier?.same) throw keyReused();
  throw new RepeatedCreation(earlier.subject_id);
}
