/** Templates. */
import { and, asc, eq, or, sql } from 'drizzle-orm';
import { endpoint } from '../../drizzle/schema/endpoint.ts';
import { template } from '../../drizzle/schema/template.ts';
import type { Actor } from '../domain/access.ts';
import { filledFields } from '../domain/endpoint.ts';
import type { Template, TemplateSettings } from '../domain/template.ts';
import { recordChange } from './audit-store.ts';
import type { Database } from './database.ts';
import { holdRegistryAuth } from './registry-auth-store.ts';

/** What became of a deletion. */
export type TemplateRemoval = { removed: true } | { removed: false; usedBy: string[] };

/** See the file's first line. */
export class TemplateStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Creates a template. Undefined: the name is taken in this account. INVALID_REQUEST: its registry credentials are not in the account. */
  async create(id: string, actor: Actor, settings: TemplateSettings): Promise<Template | undefined> {
    const { accountId } = actor;
    return this.#database.db.transaction(async (tx) => {
      await holdRegistryAuth(tx, accountId, settings.registryAuthId);
      const target = [template.accountId, template.name];
      const [row] = await tx.insert(template).values({ ...settings, id, accountId }).onConflictDoNothing({ target }).returning();
      if (row) await recordChange(tx, { ...actor, action: 'CreateTemplate', subjectId: id, fields: filledFields(settings) });
      return row;
    });
  }

  /** A template that the account may use: its own, or a public one. */
  async usable(id: string, accountId: string): Promise<Template | undefined> {
    const [row] = await this.#database.db.select().from(template)
      .where(and(eq(template.id, id), or(eq(template.accountId, accountId), eq(template.public, true))));
    return row;
  }

  /** Templates of an account, with the public ones of others if wanted, oldest first. */
  async list(accountId: string, includePublic: boolean): Promise<Template[]> {
    const own = eq(template.accountId, accountId);
    return this.#database.db.select().from(template)
      .where(includePublic ? or(own, eq(template.public, true)) : own).orderBy(asc(template.createdAt), asc(template.id));
  }

  /**
   * Changes a template under its lock; when `change` says that it replaces workers, the versions of its endpoints rise in the same
   * transaction. `fields` are those that the caller named. Answers the template and those endpoints; undefined: there is no such template
   * in this account. `taken`: the name is. INVALID_REQUEST: its new registry credentials are not in the account.
   */
  async update(
    id: string, actor: Actor, fields: readonly string[],
    change: (current: Template) => { settings: TemplateSettings; replacesWorkers: boolean },
  ): Promise<{ template: Template; endpointIds: string[] } | 'taken' | undefined> {
    const { accountId } = actor;
    return this.#database.db.transaction(async (tx) => {
      const [current] = await tx.select().from(template).where(and(eq(template.id, id), eq(template.accountId, accountId))).for('update');
      if (!current) return undefined;
      const { settings, replacesWorkers } = change(current);
      if (settings.registryAuthId !== current.registryAuthId) await holdRegistryAuth(tx, accountId, settings.registryAuthId);
      // The unique constraint stays the judge of two renames at the same moment.
      const [other] = await tx.select({ id: template.id }).from(template)
        .where(and(eq(template.accountId, accountId), eq(template.name, settings.name)));
      if (other && other.id !== id) return 'taken';
      const [row] = await tx.update(template).set(settings).where(eq(template.id, id)).returning();
      const raised = !replacesWorkers ? [] : await tx.update(endpoint).set({ version: sql`${endpoint.version} + 1` })
        .where(eq(endpoint.templateId, id)).returning({ id: endpoint.id });
      await recordChange(tx, { ...actor, action: 'UpdateTemplate', subjectId: id, fields });
      return { template: row!, endpointIds: raised.map((found) => found.id) };
    });
  }

  /** Deletes a template unless endpoints use it. Undefined: there is no such template in this account. */
  async remove(id: string, actor: Actor): Promise<TemplateRemoval | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [current] = await tx.select({ id: template.id }).from(template)
        .where(and(eq(template.id, id), eq(template.accountId, actor.accountId))).for('update');
      if (!current) return undefined;
      const users = await tx.select({ id: endpoint.id }).from(endpoint).where(eq(endpoint.templateId, id)).limit(10);
      if (users.length > 0) return { removed: false, usedBy: users.map((user) => user.id) };
      await tx.delete(template).where(eq(template.id, id));
      await recordChange(tx, { ...actor, action: 'DeleteTemplate', subjectId: id, fields: [] });
      return { removed: true };
    });
  }
}
