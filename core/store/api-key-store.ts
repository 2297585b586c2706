/** API keys. Their text is never here, only its hash. */
import { and, asc, eq, inArray, isNull, sql } from 'drizzle-orm';
import { apiKey } from '../../drizzle/schema/api-key.ts';
import type { Caller, Permission, Scope } from '../domain/access.ts';
import type { Database } from './database.ts';

/** A key as its owner sees it. */
export interface ApiKey {
  id: string;
  accountId: string;
  name: string;
  scope: Exclude<Scope, 'ROOT'>;
  endpointIds: string[];
  permissions: Caller['permissions'];
  createdAt: Date;
  revokedAt: Date | null;
}

/** See the file's first line. */
export class ApiKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores a key under the hash of its text. */
  async create(key: Omit<ApiKey, 'createdAt' | 'revokedAt'>, secretHash: Buffer): Promise<ApiKey> {
    const { permissions, ...settings } = key;
    const { MANAGEMENT: management, JOBS: jobs } = permissions;
    const [row] = await this.#database.db.insert(apiKey).values({ ...settings, management, jobs, secretHash }).returning();
    return keyFromRow(row!);
  }

  /** Holders of keys by the hashes of their texts, hex; hashes of no key and of revoked keys are left out. */
  async callers(hashes: readonly Buffer[]): Promise<Map<string, Caller>> {
    const rows = await this.#database.db.select().from(apiKey)
      .where(and(inArray(apiKey.secretHash, [...hashes]), isNull(apiKey.revokedAt)));
    return new Map(rows.map((row) => [
      row.secretHash.toString('hex'),
      { accountId: row.accountId, keyId: row.id, scope: row.scope as Scope, endpointIds: row.endpointIds, permissions: permissionsOf(row) },
    ]));
  }

  /** Keys of an account, revoked ones included, oldest first. */
  async list(accountId: string): Promise<ApiKey[]> {
    const rows = await this.#database.db.select().from(apiKey)
      .where(eq(apiKey.accountId, accountId)).orderBy(asc(apiKey.createdAt), asc(apiKey.id));
    return rows.map(keyFromRow);
  }

  /** Revokes a key of an account (of any account without one). False: there is no such key. Revoking twice keeps the first instant. */
  async revoke(id: string, accountId: string | undefined): Promise<boolean> {
    const own = accountId === undefined ? eq(apiKey.id, id) : and(eq(apiKey.id, id), eq(apiKey.accountId, accountId));
    const rows = await this.#database.db.update(apiKey).set({ revokedAt: sql`coalesce(${apiKey.revokedAt}, now())` })
      .where(own).returning({ id: apiKey.id });
    return rows.length > 0;
  }
}

function keyFromRow(row: typeof apiKey.$inferSelect): ApiKey {
  const { secretHash: _, scope, management: _management, jobs: _jobs, ...rest } = row;
  return { ...rest, scope: scope as ApiKey['scope'], permissions: permissionsOf(row) };
}

function permissionsOf({ management, jobs }: typeof apiKey.$inferSelect): Caller['permissions'] {
  return { MANAGEMENT: management as Permission, JOBS: jobs as Permission };
}
