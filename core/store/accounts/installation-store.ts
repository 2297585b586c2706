/**
 * Stores which secret key belongs to a database. A value that is encrypted with one key could not be decrypted with
 * another.
 */

import type { Sealer } from '@slipway/kit/host/seal';
import { registryCredentialsIdentity, webhookSecretIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Database, Sql } from '../sql/database.ts';

/** The database's secrets were encrypted with another key than this core has. */
export class WrongSecretKeyError extends Error {
  constructor() {
    super(
      'SLIPWAY_SECRET_KEY is not the key that the secrets in this database are sealed with. Start with the key of ' +
        'its first start (npm start keeps it as sealKey in secrets.json of the data folder), or use ' +
        'another database.',
    );
    this.name = 'WrongSecretKeyError';
  }
}

/** Rows are sealed with a key that this core does not have: an exchange of the secret key is going on. */
export class PreviousSecretKeyError extends Error {
  constructor() {
    super(
      'The secret key is being exchanged, and rows are still sealed with the previous one. Start with both: ' +
        'SLIPWAY_SECRET_KEY and SLIPWAY_NEXT_SECRET_KEY (slipway secret-key shows the remaining rows).',
    );
    this.name = 'PreviousSecretKeyError';
  }
}

interface FingerprintRow {
  fingerprint: Buffer;
  previous: Buffer | null;
  isRotated: boolean;
}

export class InstallationStore {
  readonly #sql: Sql;
  readonly #sealer: Sealer;

  constructor({ sql }: Pick<Database, 'sql'>, sealer: Sealer) {
    this.#sql = sql;
    this.#sealer = sealer;
  }

  /**
   * Binds the database to the key of the first core that starts on it; of several that start together, one is the
   * first. A database of an earlier release, which has secrets and no fingerprint, accepts only the key that decrypts
   * them. Of two keys the database says which one seals. Throws WrongSecretKeyError if the database has another key,
   * PreviousSecretKeyError if it needs one more.
   */
  async claimSecretKey(): Promise<void> {
    const fingerprint = this.#sealer.fingerprint();
    const [known] = await fingerprints(this.#sql);
    if (!known && !(await opensWhatIsThere(this.#sql, this.#sealer))) throw new WrongSecretKeyError();
    if (!known)
      await this.#sql`INSERT INTO installation (secret_key_fingerprint) VALUES (${fingerprint}) ON CONFLICT DO NOTHING`;
    const [first] = known ? [known] : await fingerprints(this.#sql);
    const { fingerprint: current, previous, isRotated } = first!;
    const has = (key: Buffer): boolean => this.#sealer.fingerprints().some((own) => own.equals(key));
    if (previous !== null && has(current) !== has(previous)) throw new PreviousSecretKeyError();
    if (!this.#sealer.use(current, isRotated)) throw new WrongSecretKeyError();
  }
}

async function fingerprints(sql: Sql): Promise<FingerprintRow[]> {
  return await sql<FingerprintRow[]>`
    SELECT secret_key_fingerprint AS fingerprint, previous_secret_key_fingerprint AS previous,
      secret_key_rotated_at IS NOT NULL AS "isRotated" FROM installation`;
}

/**
 * Returns true if the key decrypts the stored secrets. One secret of each kind is enough: an earlier release had one
 * key too.
 */
async function opensWhatIsThere(sql: Sql, sealer: Sealer): Promise<boolean> {
  const rows = await sql<{ kind: 'auth' | 'endpoint'; id: string; sealed: Buffer }[]>`
    (SELECT 'auth' AS kind, id, credentials_sealed AS sealed FROM registry_auth LIMIT 1) UNION ALL
    (SELECT 'endpoint', id, webhook_secret_sealed FROM endpoint WHERE webhook_secret_sealed IS NOT NULL LIMIT 1)`;
  const identityOf = { auth: registryCredentialsIdentity, endpoint: webhookSecretIdentity };
  try {
    for (const { kind, id, sealed } of rows) sealer.open(sealed, identityOf[kind](id));
    return true;
  } catch {
    return false;
  }
}
