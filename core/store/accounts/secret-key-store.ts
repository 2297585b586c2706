/** Stores the exchange of the secret key, and seals rows anew. */
import { sql } from '@slipway/drizzle/orm';
import type { Sealer } from '@slipway/kit/host/seal';
import { SealError } from '@slipway/kit/host/seal';
import type { Database, Sql } from '../sql/database.ts';
import { ONE_KEY_NAME } from '../sql/database.ts';
import { recordChange } from './audit-rows.ts';
import type { SealedColumn } from './sealed-columns.ts';
import { SEALED_COLUMNS } from './sealed-columns.ts';

/** Rows per statement. */
const BATCH = 100;
/** Seconds after a change in which a replica may still seal with the previous key. Each reads it every 5 s. */
const SETTLED_SECONDS = 60;

/** The secret keys of a database, by their fingerprints. */
interface SecretKeyRecord {
  current: Buffer;
  /** `undefined`: no row needs another key. */
  previous: Buffer | undefined;
  /** The current key is not the first one. */
  isRotated: boolean;
  /** All replicas seal with the current key. */
  isSettled: boolean;
}

/** Rows of a column that are not sealed with the current key. */
interface SealedRowCount {
  table: string;
  column: string;
  rows: number;
}

/** Result of a scan of all sealed columns. */
interface SealedScan {
  /** Rows that were sealed anew. */
  sealed: number;
  /** Rows that open with no key, and stay as they are. */
  damaged: number;
}

export class SecretKeyStore {
  readonly #database: Database;
  readonly #sql: Sql;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sql = database.sql;
    this.#sealer = sealer;
  }

  /** Returns the keys of the database, and lets this replica seal with the current one. */
  async read(): Promise<SecretKeyRecord> {
    const [row] = await this.#sql<
      { current: Buffer; previous: Buffer | null; isRotated: boolean; isSettled: boolean }[]
    >`
      SELECT secret_key_fingerprint AS current, previous_secret_key_fingerprint AS previous,
        secret_key_rotated_at IS NOT NULL AS "isRotated",
        coalesce(secret_key_rotated_at <= now() - ${SETTLED_SECONDS}::int * interval '1 s', true) AS "isSettled"
      FROM installation`;
    this.#sealer.use(row!.current, row!.isRotated);
    return { ...row!, previous: row!.previous ?? undefined };
  }

  /**
   * Makes another key of this replica the current one. Returns false if an exchange is under way, or another replica
   * was first.
   */
  async rotate(next: Buffer, keyId: string): Promise<boolean> {
    return await this.#database.db.transaction(async (tx) => {
      const changed = await tx.execute(sql`
        UPDATE installation SET previous_secret_key_fingerprint = secret_key_fingerprint,
          secret_key_fingerprint = ${next}, secret_key_rotated_at = now()
        WHERE previous_secret_key_fingerprint IS NULL AND secret_key_fingerprint <> ${next}
        RETURNING secret_key_rotated_at`);
      if (changed.length === 0) return false;
      const fields = ['secret_key'];
      await recordChange(tx, {
        accountId: '',
        keyId,
        action: 'RotateSecretKey',
        subjectId: next.toString('hex'),
        fields,
      });
      return true;
    });
  }

  /** Returns whether a replica has one secret key only, like replicas of earlier releases. */
  async hasOneKeyReplica(): Promise<boolean> {
    const rows = await this.#sql`
      SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = ${ONE_KEY_NAME} LIMIT 1`;
    return rows.length > 0;
  }

  /** Returns the columns with rows that are not sealed with the current key. */
  async left(): Promise<SealedRowCount[]> {
    const counts: SealedRowCount[] = [];
    for (const { table, column } of SEALED_COLUMNS) {
      const [row] = await this.#sql<{ rows: number }[]>`
        SELECT count(*)::int AS rows FROM ${this.#sql(table)} WHERE ${this.#isOld(column)}`;
      if (row!.rows > 0) counts.push({ table, column, rows: row!.rows });
    }
    return counts;
  }

  /**
   * Seals all rows with the current key that are sealed with another, some at a time. Returns at the signal. May run on
   * several replicas at once.
   */
  async sealAnew(signal: AbortSignal): Promise<SealedScan> {
    const scan: SealedScan = { sealed: 0, damaged: 0 };
    for (const each of SEALED_COLUMNS) {
      let after: string[] | undefined;
      do {
        if (signal.aborted) return scan;
        const batch = await this.#sealBatch(each, after);
        after = batch.last;
        scan.sealed += batch.sealed;
        scan.damaged += batch.damaged;
      } while (after !== undefined);
    }
    return scan;
  }

  /** Ends the exchange: the previous key is needed no more. */
  async forgetPrevious(): Promise<void> {
    await this.#sql`UPDATE installation SET previous_secret_key_fingerprint = NULL`;
  }

  /** Seals some rows after a key. `last`: the key of the last one; `undefined` if there are no more. */
  async #sealBatch(
    { table, column, key, more = {}, identity }: SealedColumn,
    after: string[] | undefined,
  ): Promise<SealedScan & { last: string[] | undefined }> {
    const names = Object.keys(key);
    const texts = [...names.map((name) => `t."${name}"::text AS "${name}"`), ...named(more)].join(', ');
    const tuple = `(${names.map((name) => `t."${name}"`).join(', ')})`;
    const given = names.map((name, at) => `$${at + 2}::text::${key[name]}`);
    const beyond = after === undefined ? '' : `AND ${tuple} > (${given.join(', ')})`;
    const rows = await this.#sql.unsafe<(Record<string, string> & { sealed_value: Buffer })[]>(
      `SELECT ${texts}, t.${column} AS sealed_value FROM ${table} t
       WHERE substring(t.${column} FROM 1 FOR ${this.#sealer.prefix().length}) <> $1 ${beyond}
       ORDER BY ${names.map((name) => `t."${name}"`).join(', ')} LIMIT ${BATCH}`,
      [this.#sealer.prefix(), ...(after ?? [])],
    );
    const result: SealedScan = { sealed: 0, damaged: 0 };
    for (const row of rows) {
      const anew = this.#anew(row.sealed_value, identity(row));
      if (anew === undefined) result.damaged += 1;
      else {
        const where = names.map((name, at) => `"${name}" = $${at + 3}::text::${key[name]}`).join(' AND ');
        // A value written in the meantime was sealed with the current key.
        await this.#sql.unsafe(`UPDATE ${table} SET ${column} = $1 WHERE ${column} = $2 AND ${where}`, [
          anew,
          row.sealed_value,
          ...names.map((name) => row[name]!),
        ]);
        result.sealed += 1;
      }
    }
    const last = rows.length < BATCH ? undefined : names.map((name) => rows.at(-1)![name]!);
    return { ...result, last };
  }

  #anew(sealed: Buffer, identity: string): Buffer | undefined {
    try {
      return this.#sealer.seal(this.#sealer.open(sealed, identity), identity);
    } catch (error) {
      if (error instanceof SealError) return undefined;
      throw error;
    }
  }

  #isOld(column: string) {
    const prefix = this.#sealer.prefix();
    return this.#sql`substring(${this.#sql(column)} FROM 1 FOR ${prefix.length}::int) <> ${prefix}`;
  }
}

function named(more: Readonly<Record<string, string>>): string[] {
  return Object.entries(more).map(([name, expression]) => `${expression} AS ${name}`);
}
