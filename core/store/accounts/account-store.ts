/** Stores accounts. */
import { asc, eq, inArray, sql } from '@slipway/drizzle/orm';
import { account } from '@slipway/drizzle/schema/account';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { Quota } from '../../domain/accounts/quota.ts';
import { changedValues, createdValues } from '../../domain/resources/release-values.ts';
import type { Database } from '../sql/database.ts';
import { whereYes } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byText, readPage } from '../sql/page.ts';
import { recordChange } from './audit-rows.ts';

/** An account as its keys see it. */
export type Account = typeof account.$inferSelect;

export class AccountStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Creates an account and returns its id; if the name exists, the id of the existing account. `keyId`: the key that
   * was used.
   */
  async create(id: string, keyId: string, name: string): Promise<string> {
    const made = await this.#database.db.transaction(async (tx) => {
      const [row] = await tx
        .insert(account)
        .values({ id, name })
        .onConflictDoNothing({ target: account.name })
        .returning({ id: account.id });
      if (row)
        await recordChange(tx, {
          ...{ accountId: id, keyId, action: 'CreateAccount', subjectId: id },
          ...{ fields: ['name'], values: createdValues({ name }, ['name']) },
        });
      return row;
    });
    if (made) return made.id;
    const [found] = await this.#database.db.select({ id: account.id }).from(account).where(eq(account.name, name));
    return found!.id;
  }

  /** Returns an account. `undefined` if there is none. */
  async get(id: string): Promise<Account | undefined> {
    const [row] = await this.#database.db.select().from(account).where(eq(account.id, id));
    return row;
  }

  /** Returns all accounts, sorted by name. */
  async list(): Promise<Account[]> {
    return this.#database.db.select().from(account).orderBy(asc(account.name));
  }

  /** Returns a page of the accounts. */
  async page(page: PageRequest): Promise<Page<Account>> {
    const { db } = this.#database;
    const bytes = sql`1000 + octet_length(${account.publicKey})`;
    const { workerQuota, gpuQuota, queuedJobQuota, requestQuota } = account;
    const filters = {
      quota: whereYes(sql`num_nonnulls(${workerQuota}, ${gpuQuota}, ${queuedJobQuota}, ${requestQuota}) > 0`),
      endpoints: whereYes(sql`EXISTS (SELECT FROM ${endpoint} WHERE ${endpoint.accountId} = ${account.id})`),
    };
    const viewed = { searched: [account.name], sorts: { name: byText(account.name) }, filters };
    const listed = { from: account, id: account.id, createdAt: account.createdAt, bytes, where: undefined, ...viewed };
    return readPage(this.#database, listed, page, (ids) => db.select().from(account).where(inArray(account.id, ids)));
  }

  /** Sets the quota. Returns `undefined` if there is no such account. */
  async setQuota({ accountId: id, keyId }: Actor, quota: Quota): Promise<Account | undefined> {
    const { workers: workerQuota, gpus: gpuQuota, queuedJobs: queuedJobQuota, requests: requestQuota } = quota;
    const gpuWeight = quota.gpuWeight ?? 1;
    return this.#database.db.transaction(async (tx) => {
      const [before] = await tx.select().from(account).where(eq(account.id, id)).for('update');
      const [row] = await tx
        .update(account)
        .set({ workerQuota, gpuQuota, queuedJobQuota, requestQuota, gpuWeight })
        .where(eq(account.id, id))
        .returning();
      if (!before || !row) return undefined;
      const values = changedValues(quotaOf(before), quotaOf(row), 'quota.');
      await recordChange(tx, { accountId: id, keyId, action: 'SetQuota', subjectId: id, fields: ['quota'], values });
      return row;
    });
  }

  /** Sets the SSH key. Returns `undefined` if there is no such account. */
  async setPublicKey(actor: Actor, publicKey: string): Promise<Account | undefined> {
    const id = actor.accountId;
    return this.#database.db.transaction(async (tx) => {
      const [before] = await tx.select().from(account).where(eq(account.id, id)).for('update');
      const [row] = await tx.update(account).set({ publicKey }).where(eq(account.id, id)).returning();
      if (!before || !row) return undefined;
      const values = changedValues({ publicKey: before.publicKey }, { publicKey });
      await recordChange(tx, { ...actor, action: 'UpdateAccount', subjectId: id, fields: ['public_key'], values });
      return row;
    });
  }

  /** Returns true if the account exists. */
  async exists(id: string): Promise<boolean> {
    const rows = await this.#database.db.select({ id: account.id }).from(account).where(eq(account.id, id));
    return rows.length > 0;
  }
}

function quotaOf({ workerQuota, gpuQuota, queuedJobQuota, requestQuota, gpuWeight }: Account) {
  return { workers: workerQuota, gpus: gpuQuota, queuedJobs: queuedJobQuota, requests: requestQuota, gpuWeight };
}
