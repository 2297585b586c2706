/** Credentials for container registries. Their secrets come and go sealed. */
import { and, eq, inArray, sql } from '../../drizzle/orm.ts';
import { pod } from '../../drizzle/schema/pod.ts';
import { registryAuth } from '../../drizzle/schema/registry-auth.ts';
import { template } from '../../drizzle/schema/template.ts';
import type { Actor } from '../domain/permission.ts';
import type { RegistryAuth } from '../domain/registry-auth.ts';
import { recordChange } from './audit-rows.ts';
import type { Database } from './database.ts';
import { byText, readPage } from './page.ts';
import type { Page, PageRequest } from './page.ts';

/** Who uses credentials: ids, at most ten of each. */
export interface RegistryAuthUsers {
  templateIds: string[];
  podIds: string[];
}

/** What became of a deletion. */
export type RegistryAuthRemoval = { removed: true } | { removed: false; usedBy: RegistryAuthUsers };

const USERS_NAMED_MAX = 10;
/** Everything but the secrets. */
const SHOWN = { id: registryAuth.id, accountId: registryAuth.accountId, name: registryAuth.name, createdAt: registryAuth.createdAt };

export class RegistryAuthStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Stores credentials. Undefined: the name is taken in this account. */
  async create(id: string, actor: Actor, name: string, credentialsSealed: Buffer): Promise<RegistryAuth | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const { accountId } = actor;
      const [row] = await tx.insert(registryAuth).values({ id, accountId, name, credentialsSealed })
        .onConflictDoNothing({ target: [registryAuth.accountId, registryAuth.name] }).returning(SHOWN);
      if (row) await recordChange(tx, { ...actor, action: 'CreateRegistryAuth', subjectId: id, fields: ['name', 'username', 'password'] });
      return row;
    });
  }

  /** Reads one without its secrets. Undefined: there is none in this account. */
  async get(id: string, accountId: string): Promise<RegistryAuth | undefined> {
    const [row] = await this.#database.db.select(SHOWN).from(registryAuth).where(own(id, accountId));
    return row;
  }

  /** A page of the credentials of an account without their secrets, oldest first. */
  async list(accountId: string, page: PageRequest): Promise<Page<RegistryAuth>> {
    const where = eq(registryAuth.accountId, accountId);
    const viewed = { searched: [registryAuth.name], sorts: { name: byText(registryAuth.name) } };
    const listed = { from: registryAuth, id: registryAuth.id, createdAt: registryAuth.createdAt, bytes: sql`1000`, where, ...viewed };
    return readPage(this.#database, listed, page, (ids) => this.#database.db.select(SHOWN).from(registryAuth).where(inArray(registryAuth.id, ids)));
  }

  /** Replaces the secrets. Undefined: there are none in this account. */
  async update(id: string, actor: Actor, credentialsSealed: Buffer): Promise<RegistryAuth | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [row] = await tx.update(registryAuth).set({ credentialsSealed }).where(own(id, actor.accountId)).returning(SHOWN);
      if (row) await recordChange(tx, { ...actor, action: 'UpdateRegistryAuth', subjectId: id, fields: ['username', 'password'] });
      return row;
    });
  }

  /** Deletes credentials unless templates or pods use them. Undefined: there are none in this account. */
  async remove(id: string, actor: Actor): Promise<RegistryAuthRemoval | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const { accountId } = actor;
      const [current] = await tx.select({ id: registryAuth.id }).from(registryAuth).where(own(id, accountId)).for('update');
      if (!current) return undefined;
      const templates = await tx.select({ id: template.id }).from(template)
        .where(and(eq(template.accountId, accountId), eq(template.registryAuthId, id))).limit(USERS_NAMED_MAX);
      const pods = await tx.select({ id: pod.id }).from(pod)
        .where(and(eq(pod.accountId, accountId), eq(pod.registryAuthId, id))).limit(USERS_NAMED_MAX);
      if (templates.length + pods.length > 0) {
        return { removed: false, usedBy: { templateIds: templates.map((user) => user.id), podIds: pods.map((user) => user.id) } };
      }
      await tx.delete(registryAuth).where(eq(registryAuth.id, id));
      await recordChange(tx, { ...actor, action: 'DeleteRegistryAuth', subjectId: id, fields: [] });
      return { removed: true };
    });
  }
}

function own(id: string, accountId: string) {
  return and(eq(registryAuth.id, id), eq(registryAuth.accountId, accountId));
}
