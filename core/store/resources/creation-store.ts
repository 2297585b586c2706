/** Stores Idempotency-Keys of creations. They are written in the transactions of these: creation-rows.ts. */

import { createHash } from 'node:crypto';
import { sql } from '@slipway/drizzle/orm';
import type { Sealer } from '@slipway/kit/host/seal';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { keyReused } from '../../domain/resources/creation-key.ts';
import type { Database } from '../sql/database.ts';

export class CreationStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /** Returns the stored form of a key. `action`: name of the RPC. `body`: everything else that was sent. */
  keyOf(accountId: string, action: string, requestId: string, body: Uint8Array): CreationKey {
    const keyHash = createHash('sha256').update(requestId).digest();
    const [bodyHash, previousBodyHash] = this.#sealer.hashes(body, `creation/${action}`);
    return { accountId, action, keyHash, bodyHash: bodyHash!, previousBodyHash: previousBodyHash ?? bodyHash! };
  }

  /**
   * Returns the id of what an earlier creation with this key made. `undefined` if there was none, or it has expired.
   * Throws IDEMPOTENCY_KEY_REUSED if it was sent with another body.
   */
  async find({ accountId, action, keyHash, bodyHash, previousBodyHash }: CreationKey): Promise<string | undefined> {
    const [earlier] = await this.#database.db.execute<{ subject_id: string; same: boolean }>(sql`
      SELECT subject_id, body_hash IN (${bodyHash}, ${previousBodyHash}) AS same FROM creation_key
      WHERE account_id = ${accountId} AND action = ${action} AND key_hash = ${keyHash} AND expires_at > now()`);
    if (earlier?.same === false) throw keyReused();
    return earlier?.subject_id;
  }
}
