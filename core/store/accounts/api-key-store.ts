/** Stores API keys: only the hash of a key's text, never the text. */
import { alias, and, arrayContained, eq, getTableColumns, inArray, isNull, notExists, sql } from '@slipway/drizzle/orm';
import { account } from '@slipway/drizzle/schema/account';
import { apiKey } from '@slipway/drizzle/schema/api-key';
import type { Actor, Caller, Permission, Scope } from '../../domain/accounts/permission.ts';
import { createdValues } from '../../domain/resources/release-values.ts';
import type { Database } from '../sql/database.ts';
import { whereValue, whereWord, whereYes } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byText, readPage } from '../sql/page.ts';
import { isDuplicate } from '../sql/transient.ts';
import { recordChange } from './audit-rows.ts';

/** A key as its owner sees it. */
export interface ApiKey {
  id: string;
  /** Empty for agent keys. */
  accountId: string;
  name: string;
  scope: Exclude<Scope, 'ROOT'>;
  endpointIds: string[];
  permissions: Caller['permissions'];
  /** For an agent key: the machine that uses it. Null: not used yet. */
  machineId: string | null;
  /** For an agent key: the key that it replaces, from its first use on. Null: none. */
  replacesId: string | null;
  createdAt: Date;
  revokedAt: Date | null;
}

/** Time for which a key still works after its replacement was first used, in seconds. */
export const REPLACED_KEY_SECONDS = 600;
const IS_VALID = sql`(${apiKey.revokedAt} IS NULL OR ${apiKey.revokedAt} > now())`;

export class ApiKeyStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns an agent key. `undefined` if there is none. */
  async agentKey(id: string): Promise<ApiKey | undefined> {
    const [row] = await this.#database.db
      .select()
      .from(apiKey)
      .where(and(eq(apiKey.id, id), eq(apiKey.scope, 'AGENT'), isNull(apiKey.joinTokenId)));
    return row && keyFromRow(row);
  }

  /** Stores a key under the hash of its text. `madeBy`: the key that was used. */
  async create(
    key: Omit<ApiKey, 'machineId' | 'createdAt' | 'revokedAt'>,
    secretHash: Buffer,
    madeBy: string,
  ): Promise<ApiKey> {
    const { permissions, accountId, replacesId, ...settings } = key;
    const { MANAGEMENT: management, JOBS: jobs } = permissions;
    const fields = [
      'name',
      'scope',
      ...(key.endpointIds.length > 0 ? ['endpoint_ids'] : []),
      ...(key.scope === 'RESTRICTED' ? ['permissions'] : []),
      ...(replacesId === null ? [] : ['replaces_id']),
    ];
    return this.#database.db.transaction(async (tx) => {
      const [row] = await tx
        .insert(apiKey)
        .values({ ...settings, replacesId, accountId: accountId || null, management, jobs, secretHash })
        .returning();
      const values = createdValues(key, fields);
      await recordChange(tx, { accountId, keyId: madeBy, action: 'CreateKey', subjectId: key.id, fields, values });
      return keyFromRow(row!);
    });
  }

  /**
   * Returns the holders of keys by the hashes of the texts, in hex. Hashes of unknown and revoked keys are left out.
   */
  async callers(hashes: readonly Buffer[]): Promise<Map<string, Caller>> {
    const rows = await this.#database.urgent.db
      .select({ ...getTableColumns(apiKey), requestQuota: account.requestQuota })
      .from(apiKey)
      .leftJoin(account, eq(account.id, apiKey.accountId))
      .where(and(inArray(apiKey.secretHash, [...hashes]), IS_VALID));
    return new Map(
      rows.map((row) => [
        row.secretHash.toString('hex'),
        {
          accountId: row.accountId ?? '',
          keyId: row.id,
          scope: row.scope as Scope,
          endpointIds: row.endpointIds,
          permissions: permissionsOf(row),
          machineId: row.machineId ?? undefined,
          ...(row.requestQuota === null ? {} : { requestQuota: row.requestQuota }),
        },
      ]),
    );
  }

  /**
   * Binds an unused agent key to a machine, unless the machine has another valid key. Returns the machine that the key
   * belongs to afterwards. `undefined` if the key belongs to none, or was revoked.
   */
  async bind(id: string, machineId: string): Promise<string | undefined> {
    const { db } = this.#database;
    const replaced = await this.#retireReplaced(id, machineId);
    if (replaced !== undefined && replaced !== machineId) return replaced;
    const other = alias(apiKey, 'other');
    const taken = db
      .select()
      .from(other)
      .where(and(eq(other.machineId, machineId), isNull(other.revokedAt)));
    try {
      await db
        .update(apiKey)
        .set({ machineId })
        .where(and(eq(apiKey.id, id), isNull(apiKey.machineId), isNull(apiKey.revokedAt), notExists(taken)));
    } catch (error) {
      // Two new keys were used for one machine at the same time.
      if (!isDuplicate(error)) throw error;
    }
    const [row] = await db
      .select({ machineId: apiKey.machineId })
      .from(apiKey)
      .where(and(eq(apiKey.id, id), isNull(apiKey.revokedAt)));
    return row?.machineId ?? undefined;
  }

  /**
   * Ends the key that this one replaces, after a while: the machine's calls with it may still be under way. Returns the
   * machine of that key. `undefined`: the key replaces none, or that one was not used.
   */
  async #retireReplaced(id: string, machineId: string): Promise<string | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [key] = await tx.select().from(apiKey).where(eq(apiKey.id, id));
      if (!key?.replacesId || key.machineId || key.revokedAt) return undefined;
      const [old] = await tx.select().from(apiKey).where(eq(apiKey.id, key.replacesId)).for('update');
      if (!old?.machineId || old.machineId !== machineId || old.revokedAt) return old?.machineId ?? undefined;
      const revokedAt = sql`now() + ${REPLACED_KEY_SECONDS}::int * interval '1 s'`;
      await tx.update(apiKey).set({ revokedAt }).where(eq(apiKey.id, old.id));
      await recordChange(tx, { accountId: '', keyId: id, action: 'RevokeKey', subjectId: old.id, fields: [] });
      return machineId;
    });
  }

  /**
   * Returns a page of the keys of an account, oldest first, revoked ones included. Empty account: agent keys.
   * `undefined`: all keys. `only`: keys limited to endpoints among these; empty: all keys.
   */
  async list(accountId: string | undefined, only: readonly string[], page: PageRequest): Promise<Page<ApiKey>> {
    const ofAccount = accountId === '' ? isNull(apiKey.accountId) : eq(apiKey.accountId, accountId ?? '');
    const whose = accountId === undefined ? undefined : ofAccount;
    const some =
      only.length > 0
        ? [sql`cardinality(${apiKey.endpointIds}) > 0`, arrayContained(apiKey.endpointIds, [...only])]
        : [];
    const where = and(whose, ...some);
    const bytes = sql`1000 + octet_length(${apiKey.endpointIds}::text)`;
    const sorts = { name: byText(apiKey.name), scope: byText(apiKey.scope) };
    const filters = {
      scope: whereValue(apiKey.scope, ['ALL', 'READ_ONLY', 'RESTRICTED', 'AGENT']),
      revoked: whereYes(sql`${apiKey.revokedAt} IS NOT NULL`),
      joined: whereWord({
        yes: sql`${apiKey.machineId} IS NOT NULL`,
        no: sql`${apiKey.scope} = 'AGENT' AND ${apiKey.machineId} IS NULL`,
      }),
    };
    const searched = [apiKey.name, sql`array_to_string(${apiKey.endpointIds}, ' ')`];
    const listed = { from: apiKey, id: apiKey.id, createdAt: apiKey.createdAt, bytes, where, searched, sorts, filters };
    return readPage(this.#database, listed, page, async (ids) =>
      (await this.#database.db.select().from(apiKey).where(inArray(apiKey.id, ids))).map(keyFromRow),
    );
  }

  /**
   * Revokes a key of the actor's account, or of any account if the actor has none. Returns false if there is no such
   * key. Idempotent.
   */
  async revoke(id: string, { accountId, keyId }: Actor): Promise<boolean> {
    const own = accountId === '' ? eq(apiKey.id, id) : and(eq(apiKey.id, id), eq(apiKey.accountId, accountId));
    return this.#database.db.transaction(async (tx) => {
      const [current] = await tx
        .select({ accountId: apiKey.accountId, isValid: sql<boolean>`${IS_VALID}` })
        .from(apiKey)
        .where(own)
        .for('update');
      if (!current?.isValid) return current !== undefined;
      await tx.update(apiKey).set({ revokedAt: sql`now()` }).where(eq(apiKey.id, id));
      await recordChange(tx, {
        accountId: current.accountId ?? '',
        keyId,
        action: 'RevokeKey',
        subjectId: id,
        fields: [],
      });
      return true;
    });
  }
}

function keyFromRow(row: typeof apiKey.$inferSelect): ApiKey {
  const { secretHash: _, scope, management: _management, jobs: _jobs, accountId, ...rest } = row;
  return { ...rest, accountId: accountId ?? '', scope: scope as ApiKey['scope'], permissions: permissionsOf(row) };
}

function permissionsOf({ management, jobs }: typeof apiKey.$inferSelect): Caller['permissions'] {
  return { MANAGEMENT: management as Permission, JOBS: jobs as Permission };
}
