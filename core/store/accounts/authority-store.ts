/** Stores the installation's authorities: the current, the next and the previous one. */
import type { Sealer } from '@slipway/kit/host/seal';
import type { CertifiedKey } from '@slipway/kit/tls/authority';
import { authorityKeyIdentity } from '../../domain/settings/sealed-identity.ts';
import type { Database, Sql } from '../sql/database.ts';
import { inTransaction } from '../sql/database.ts';
import { currentSource } from './call-source.ts';

/** Seconds after which all replicas know a new authority: each reads them twice as often. */
const SETTLED_SECONDS = 60;
const NAMES_MAX = 20;

/** The authorities as they are stored. */
export interface AuthorityRecord {
  current: CertifiedKey;
  next: CertifiedKey | undefined;
  /** All replicas know the next one, so that it may sign. */
  isSettled: boolean;
  /** Certificate in PEM. */
  previous: string | undefined;
}

/** An authority that has signed a certificate. */
interface Signer {
  digest: string;
  /** PEM. */
  certificate: string;
}

interface CountedMachines {
  count: number;
  names: string[];
}

/** Certificates in PEM of the authorities that the caller of a change has seen. */
interface SeenAuthorities {
  current: string;
  next: string | undefined;
  previous: string | undefined;
}

/** Counts the machines whose certificate this authority did, or did not, sign. */
type ReadMachines = (digest: string, isSigned: boolean) => Promise<CountedMachines>;

interface AuthorityRow {
  certificate: string | null;
  sealed: Buffer;
  nextCertificate: string | null;
  nextSealed: Buffer;
  isSettled: boolean | null;
  previous: string | null;
}

export class AuthorityStore {
  readonly #sql: Sql;
  readonly #sealer: Sealer;

  constructor({ sql }: Pick<Database, 'sql'>, sealer: Sealer) {
    this.#sql = sql;
    this.#sealer = sealer;
  }

  /**
   * Returns the authorities. If there is none yet, stores what `create` returns; of several replicas that start
   * together, the first one's counts for all.
   */
  async claim(create: () => CertifiedKey): Promise<AuthorityRecord> {
    const known = await this.read();
    if (known) return known;
    const { certificate, key } = create();
    await this.#sql`
      UPDATE installation SET authority_certificate = ${certificate}, authority_key_sealed = ${this.#seal(key)}
      WHERE authority_certificate IS NULL`;
    return (await this.read())!;
  }

  /** Returns the authorities. `undefined`: there is none yet. */
  async read(): Promise<AuthorityRecord | undefined> {
    const [row] = await this.#sql<AuthorityRow[]>`
      SELECT authority_certificate AS certificate, authority_key_sealed AS sealed,
        next_authority_certificate AS "nextCertificate", next_authority_key_sealed AS "nextSealed",
        next_authority_at <= now() - ${SETTLED_SECONDS}::int * interval '1 s' AS "isSettled",
        previous_authority_certificate AS previous
      FROM installation`;
    if (!row || row.certificate === null) return undefined;
    const { certificate, nextCertificate, previous } = row;
    return {
      current: { certificate, key: this.#open(row.sealed) },
      next: nextCertificate === null ? undefined : { certificate: nextCertificate, key: this.#open(row.nextSealed) },
      isSettled: row.isSettled ?? false,
      previous: previous ?? undefined,
    };
  }

  /** Adds the authority that follows. Returns false while another exchange is under way. */
  async rotate({ certificate, key }: CertifiedKey, keyId: string): Promise<boolean> {
    return this.#change(
      'RotateAuthority',
      keyId,
      (tx) => tx`
        UPDATE installation SET next_authority_certificate = ${certificate}, next_authority_at = now(),
          next_authority_key_sealed = ${this.#seal(key)}
        WHERE next_authority_certificate IS NULL AND previous_authority_certificate IS NULL`,
    );
  }

  /** Makes the next authority the current one. `next`: its certificate. Returns false if it is another one by now. */
  async use(keyId: string, next: string): Promise<boolean> {
    return this.#change(
      'UseAuthority',
      keyId,
      (tx) => tx`
        UPDATE installation SET previous_authority_certificate = authority_certificate,
          authority_certificate = next_authority_certificate, authority_key_sealed = next_authority_key_sealed,
          next_authority_certificate = NULL, next_authority_key_sealed = NULL, next_authority_at = NULL
        WHERE next_authority_certificate = ${next}`,
    );
  }

  /**
   * Removes the next or the previous authority. `check`: called when no certificate can be signed meanwhile; if it
   * throws, nothing changes. Returns false if the authorities are not `seen` any more: what was checked about them
   * would not hold for those that are removed.
   */
  async withdraw(
    keyId: string,
    seen: SeenAuthorities,
    check: (machines: ReadMachines) => Promise<void>,
  ): Promise<boolean> {
    return this.#change('WithdrawAuthority', keyId, async (tx) => {
      const { current, next = null, previous = null } = seen;
      const locked = await tx`
        SELECT authority_certificate = ${current}
          AND next_authority_certificate IS NOT DISTINCT FROM ${next}
          AND previous_authority_certificate IS NOT DISTINCT FROM ${previous} AS same
        FROM installation FOR UPDATE`;
      if (locked[0]?.['same'] !== true) return { count: 0 };
      await check((digest, isSigned) => machinesOf(tx, digest, isSigned));
      return tx`
        UPDATE installation SET previous_authority_certificate = NULL,
          next_authority_certificate = NULL, next_authority_key_sealed = NULL, next_authority_at = NULL
        WHERE next_authority_certificate IS NOT NULL OR previous_authority_certificate IS NOT NULL`;
    });
  }

  /**
   * Records which authority signed the last certificate of a machine. `keyHash`: of its public key. Returns false if
   * that authority signs no more: another replica has exchanged it, or withdrawn it.
   */
  async recordSigner(keyHash: Buffer, { digest, certificate }: Signer): Promise<boolean> {
    const { count } = await this.#sql`
      WITH signer AS MATERIALIZED (
        SELECT FROM installation WHERE ${certificate} IN (authority_certificate, next_authority_certificate) FOR SHARE
      )
      UPDATE api_key SET authority_digest = ${digest} FROM signer WHERE secret_hash = ${keyHash}`;
    return count > 0;
  }

  /** Returns the machines that joined by a token and whose certificate this authority did, or did not, sign. */
  async machines(digest: string, isSigned: boolean): Promise<CountedMachines> {
    return machinesOf(this.#sql, digest, isSigned);
  }

  #change(action: string, keyId: string, change: (tx: Sql) => PromiseLike<{ count: number }>): Promise<boolean> {
    return inTransaction(this.#sql, async (tx) => {
      const { count } = await change(tx);
      if (count === 0) return false;
      const { address, via } = currentSource();
      await tx`
        INSERT INTO audit_event (key_id, action, subject_id, fields, address, via)
        VALUES (${keyId}, ${action}, 'installation', '{}', ${address}, ${via})`;
      return true;
    });
  }

  #seal(key: string): Buffer {
    return this.#sealer.seal(Buffer.from(key), authorityKeyIdentity());
  }

  #open(sealed: Buffer): string {
    return this.#sealer.open(sealed, authorityKeyIdentity()).toString();
  }
}

async function machinesOf(sql: Sql, digest: string, isSigned: boolean): Promise<CountedMachines> {
  const rows = await sql<{ name: string; count: number }[]>`
    SELECT coalesce(machine.name, api_key.name) AS name, count(*) OVER ()::int AS count
    FROM api_key LEFT JOIN machine ON machine.id = api_key.machine_id
    WHERE api_key.join_token_id IS NOT NULL AND api_key.revoked_at IS NULL
      AND (api_key.authority_digest IS NOT DISTINCT FROM ${digest}) = ${isSigned}
    ORDER BY 1 LIMIT ${NAMES_MAX}`;
  return { count: rows[0]?.count ?? 0, names: rows.map(({ name }) => name) };
}
