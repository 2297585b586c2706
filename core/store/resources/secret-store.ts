/** Stores the secrets of accounts. Their values are sealed before they get here and stay sealed. */
import { and, eq, inArray, sql } from '@slipway/drizzle/orm';
import { account } from '@slipway/drizzle/schema/account';
import { secret } from '@slipway/drizzle/schema/secret';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { changedValues, createdValues, SECRET_VALUE } from '../../domain/resources/release-values.ts';
import type { Secret, SecretUse } from '../../domain/resources/secret.ts';
import { SECRETS_MAX, secretNameTaken, tooManySecrets } from '../../domain/resources/secret.ts';
import type { SecretRefusal } from '../../domain/resources/secret-reference.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { whereValue } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byText, byTime, readPage } from '../sql/page.ts';
import { claimCreation } from './creation-rows.ts';
import { endpointsWithoutSecrets } from './endpoint-secrets.ts';
import type { DueStarts } from './secret-users.ts';
import { endPauses, readSecretUsers } from './secret-users.ts';

/** A new secret. */
interface NewSecret {
  id: string;
  name: string;
  description: string;
  valueSealed: Buffer;
}

/** A change. Absent fields stay. */
interface SecretChange {
  description?: string;
  valueSealed?: Buffer;
}

/** A stored secret after a change, with the workloads that had failed before. */
interface SecretWrite extends DueStarts {
  secret: Secret;
}

/** The name of a secret in an account. */
interface SecretName {
  accountId: string;
  name: string;
}

/** The sealed value of a secret. */
export interface SealedSecret extends SecretName {
  id: string;
  valueSealed: Buffer;
}

/** All columns except the value. */
const SHOWN = {
  id: secret.id,
  accountId: secret.accountId,
  name: secret.name,
  description: secret.description,
  createdAt: secret.createdAt,
  valueSetAt: secret.valueSetAt,
};
const LISTED = {
  from: secret,
  id: secret.id,
  createdAt: secret.createdAt,
  bytes: sql`2000 + octet_length(${secret.description})`,
  searched: [secret.name, secret.description],
  filters: { name: whereValue(secret.name) },
  sorts: { name: byText(secret.name), changed: byTime(secret.valueSetAt) },
};

export class SecretStore {
  readonly #database: Database;

  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Stores a secret, and ends the back-off of workloads that could not start without it. Throws NAME_TAKEN if the
   * account has a secret of this name, INVALID_REQUEST if it has as many as it may. RepeatedCreation: it was stored
   * before.
   */
  async create(actor: Actor, { id, ...fields }: NewSecret, key: CreationKey | undefined): Promise<SecretWrite> {
    return this.#database.db.transaction(async (tx) => {
      const { accountId } = actor;
      await claimCreation(tx, key, id);
      // Two creations at once must not both be the last one.
      await tx.select({ id: account.id }).from(account).where(eq(account.id, accountId)).for('no key update');
      const [made] = await tx
        .insert(secret)
        .values({ id, accountId, ...fields })
        .onConflictDoNothing({ target: [secret.accountId, secret.name] })
        .returning(SHOWN);
      if (!made) throw secretNameTaken(fields.name);
      const [{ count } = { count: 0 }] = await tx
        .select({ count: sql<number>`count(*)::int` })
        .from(secret)
        .where(eq(secret.accountId, accountId));
      if (count > SECRETS_MAX) throw tooManySecrets();
      const set = fieldsOf(fields);
      const values = { ...createdValues(fields, set), value: SECRET_VALUE };
      await recordChange(tx, { ...actor, action: 'CreateSecret', subjectId: id, fields: set, values });
      return { secret: made, ...(await endPauses(tx, made, true)) };
    });
  }

  /** Returns a secret without its value. `undefined` if there is none in this account. */
  async get(id: string, accountId: string): Promise<Secret | undefined> {
    const [row] = await this.#database.db.select(SHOWN).from(secret).where(own(id, accountId));
    return row;
  }

  /** Returns a page of the secrets of an account without their values, oldest first. */
  async list(accountId: string, page: PageRequest): Promise<Page<Secret>> {
    const listed = { ...LISTED, where: eq(secret.accountId, accountId) };
    return readPage(this.#database, listed, page, (ids) =>
      this.#database.db.select(SHOWN).from(secret).where(inArray(secret.id, ids)),
    );
  }

  /** Changes a secret. A new value ends the back-off of workloads that failed with the previous one. */
  async update(id: string, actor: Actor, change: SecretChange): Promise<SecretWrite | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const hasValue = change.valueSealed !== undefined;
      const [before] = await tx.select(SHOWN).from(secret).where(own(id, actor.accountId)).for('update');
      const [changed] = await tx
        .update(secret)
        .set({ ...change, ...(hasValue && { valueSetAt: sql`now()` }) })
        .where(own(id, actor.accountId))
        .returning(SHOWN);
      if (!before || !changed) return undefined;
      const { valueSealed: _sealed, ...shown } = change;
      const values = { ...changedValues(before, shown), ...(hasValue && { value: SECRET_VALUE }) };
      const fields = fieldsOf(change);
      await recordChange(tx, { ...actor, action: 'UpdateSecret', subjectId: id, fields, values });
      return { secret: changed, ...(hasValue ? await endPauses(tx, changed, false) : NONE_ENDED) };
    });
  }

  /** Deletes a secret. Returns false if there is none in this account. */
  async remove(id: string, actor: Actor): Promise<boolean> {
    return this.#database.db.transaction(async (tx) => {
      const [removed] = await tx.delete(secret).where(own(id, actor.accountId)).returning({ name: secret.name });
      if (removed) await recordRemoval(tx, actor, id, removed.name);
      return removed !== undefined;
    });
  }

  /** Returns the templates, endpoints and pods that mention these secrets, by name. */
  async usesOf(accountId: string, names: readonly string[]): Promise<Map<string, SecretUse>> {
    return readSecretUsers(this.#database.sql, accountId, names);
  }

  /** Returns the given endpoints whose new workers cannot start because a secret is missing, with the reason. */
  async missingFor(endpointIds: readonly string[]): Promise<Map<string, SecretRefusal>> {
    return endpointsWithoutSecrets(this.#database.sql, this.#sealer, endpointIds);
  }

  /** Returns the sealed values of secrets by name. Names that an account does not have are left out. */
  async valuesOf(names: readonly SecretName[]): Promise<SealedSecret[]> {
    return this.#database.sql<SealedSecret[]>`
      SELECT s.id, s.account_id AS "accountId", s.name, s.value_sealed AS "valueSealed" FROM secret s
      WHERE (s.account_id, s.name) IN (SELECT * FROM unnest(
        ${names.map(({ accountId }) => accountId)}::text[], ${names.map(({ name }) => name)}::text[]))`;
  }
}

const NONE_ENDED: DueStarts = { endpointIds: [], machineIds: [] };

async function recordRemoval(tx: Transaction, actor: Actor, id: string, name: string): Promise<void> {
  await recordChange(tx, { ...actor, action: 'DeleteSecret', subjectId: id, subjectName: name, fields: [] });
}

/** Returns the names of the set fields, for the audit trail. */
function fieldsOf({ name, description, valueSealed }: Partial<NewSecret>): string[] {
  return [
    ...(name === undefined ? [] : ['name']),
    ...(valueSealed === undefined ? [] : ['value']),
    ...(description === undefined || description === '' ? [] : ['description']),
  ];
}

function own(id: string, accountId: string) {
  return and(eq(secret.id, id), eq(secret.accountId, accountId));
}
