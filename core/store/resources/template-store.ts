/** Stores templates. */
import { and, eq, getTableColumns, inArray, isNull, ne, or, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { givenTemplate } from '@slipway/drizzle/schema/given-template';
import { template } from '@slipway/drizzle/schema/template';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { changedValues, createdValues } from '../../domain/resources/release-values.ts';
import type { Template, TemplateSettings } from '../../domain/resources/template.ts';
import { templateNameTaken } from '../../domain/resources/template.ts';
import { idTaken } from '../../domain/resources/wanted-id.ts';
import { filledFields } from '../../domain/settings/fields.ts';
import { templateEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database } from '../sql/database.ts';
import { openEnv, sealEnv } from '../sql/env-seals.ts';
import { whereValue, whereYes } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byText, readPage } from '../sql/page.ts';
import { isDuplicate, retryOnDeadlock } from '../sql/transient.ts';
import { claimCreation } from './creation-rows.ts';
import { asPinned, notifyUsers } from './pinned-template-rows.ts';
import { holdRegistryAuth } from './registry-auth-rows.ts';
import { recordReleases } from './release-rows.ts';
import { TEMPLATE_BYTES, TEMPLATE_BYTES_WITHOUT_ENV, usableBy } from './template-rows.ts';

/**
 * Result of a deletion. `usedBy`: endpoints of the account, at most ten. `usedElsewhere`: endpoints of other accounts
 * use it too.
 */
export type TemplateRemoval = { removed: true } | { removed: false; usedBy: string[]; usedElsewhere: boolean };

const USERS_NAMED_MAX = 10;
/** Most public templates, and most bytes of them as text, that each other account may add to a list. */
const SHARED_MAX = 100;
const SHARED_BYTES_MAX = 1_048_576;
const KIND = sql`CASE WHEN ${template.serverless} THEN 'worker' ELSE 'pod' END`;
/** Searched fields, orders and filters of a list of templates. */
const VIEWED = {
  searched: [template.name, template.imageName],
  sorts: { name: byText(template.name), image: byText(template.imageName), kind: byText(KIND) },
  filters: { kind: whereValue(KIND, ['worker', 'pod']), public: whereYes(sql`${template.public}`) },
};

/** Columns of a template without its variables. */
const { env: _env, envSealed: _envSealed, secretNames: _secretNames, ...WITHOUT_ENV } = getTableColumns(template);

/** Filters of a list of templates, and the columns it reads. */
interface TemplateChoice {
  includePublic: boolean;
  includeBound: boolean;
  /** Leaves the variables unread: they are empty in the list. */
  withoutEnv: boolean;
}

export class TemplateStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Creates a template. Throws NAME_TAKEN if the account has a template of this name, or its id is not free.
   * INVALID_REQUEST: its registry credentials are not in the account. RepeatedCreation: it was created before.
   */
  async create(id: string, actor: Actor, settings: TemplateSettings, key: CreationKey | undefined): Promise<Template> {
    const { accountId } = actor;
    return this.#database.db.transaction(async (tx) => {
      await claimCreation(tx, key, id);
      await holdRegistryAuth(tx, accountId, settings.registryAuthId);
      const target = [template.accountId, template.name];
      const [row] = await tx
        .insert(template)
        .values({ ...settings, ...this.#sealed(id, settings), id, accountId })
        .onConflictDoNothing({ target })
        .returning()
        .catch((error: unknown) => {
          throw isDuplicate(error) ? idTaken(id, 'template') : error;
        });
      if (!row) throw templateNameTaken(settings.name);
      const fields = filledFields(settings);
      const values = createdValues(settings, fields);
      await recordChange(tx, { ...actor, action: 'CreateTemplate', subjectId: id, fields, values });
      return this.#fromRow(row);
    });
  }

  /** Returns true if one of these endpoints of the account uses the template. */
  async isUsedBy(id: string, accountId: string, endpointIds: readonly string[]): Promise<boolean> {
    const users = await this.#database.db
      .select({ id: endpoint.id })
      .from(endpoint)
      .where(
        and(eq(endpoint.templateId, id), eq(endpoint.accountId, accountId), inArray(endpoint.id, [...endpointIds])),
      )
      .limit(1);
    return users.length > 0;
  }

  /** Returns a template that the account may use: its own, or a public one. */
  async usable(id: string, accountId: string): Promise<Template | undefined> {
    const [row] = await this.#database.db.select().from(template).where(usableBy(id, accountId));
    return row && this.#fromRow(row);
  }

  /**
   * Returns a page of the templates of an account, with the public ones of others if requested, oldest first. Each
   * other account has a share, which its oldest templates get, so that no account can make the list arbitrarily long.
   * `only`: templates that these endpoints use; empty: all.
   */
  async list(
    accountId: string,
    { includePublic, includeBound, withoutEnv }: TemplateChoice,
    only: readonly string[],
    page: PageRequest,
  ): Promise<Page<Template>> {
    const own = eq(template.accountId, accountId);
    const shared = sql`${template.id} IN (
      SELECT id FROM (
        SELECT id, sum(octet_length(t::text) - coalesce(octet_length(env_sealed), 0)) OVER (PARTITION BY account_id
          ORDER BY created_at, id) AS bytes FROM (
          SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY created_at, id) AS place
          FROM template WHERE public AND account_id <> ${accountId} AND bound_endpoint_id IS NULL
        ) t WHERE place <= ${SHARED_MAX}
      ) sized WHERE bytes <= ${SHARED_BYTES_MAX})`;
    const used = inArray(
      template.id,
      this.#database.db
        .select({ id: endpoint.templateId })
        .from(endpoint)
        .where(and(eq(endpoint.accountId, accountId), inArray(endpoint.id, [...only]))),
    );
    // Another account's template is shown while it is public: an endpoint keeps its copy, and not the right to read on.
    const foreign = only.length > 0 ? eq(template.public, true) : shared;
    const visible = includePublic ? or(own, foreign) : own;
    const listable = only.length > 0 ? and(used, visible) : visible;
    const where = includeBound ? listable : and(listable, isNull(template.boundEndpointId));
    const listed = {
      from: template,
      id: template.id,
      createdAt: template.createdAt,
      bytes: withoutEnv ? TEMPLATE_BYTES_WITHOUT_ENV : TEMPLATE_BYTES,
      where,
      ...VIEWED,
    };
    const { db } = this.#database;
    return readPage(this.#database, listed, page, async (ids) => {
      const of = inArray(template.id, ids);
      if (!withoutEnv) return (await db.select().from(template).where(of)).map((row) => this.#fromRow(row));
      return (await db.select(WITHOUT_ENV).from(template).where(of)).map((row) => ({ ...row, env: {} }));
    });
  }

  /** Returns the templates that these endpoints run, by endpoint id. */
  async ofEndpoints(endpointIds: readonly string[]): Promise<Map<string, Template>> {
    const rows = await this.#database.db
      .select({ endpointId: endpoint.id, template, given: givenTemplate })
      .from(endpoint)
      .innerJoin(template, eq(template.id, endpoint.templateId))
      .leftJoin(givenTemplate, eq(givenTemplate.endpointId, endpoint.id))
      .where(inArray(endpoint.id, [...endpointIds]));
    return new Map(rows.map((row) => [row.endpointId, this.#fromRow(asPinned(row.template, row.given))]));
  }

  /**
   * Changes a template under its lock. If `change` says that it replaces workers, its version and those of the
   * account's endpoints rise in the same transaction. `fields`: names of the fields that the caller set. Returns the
   * template and those endpoints. `undefined` if there is no such template in this account; `taken` if the name is
   * taken. Throws INVALID_REQUEST if its new registry credentials are not in the account.
   */
  async update(
    id: string,
    actor: Actor,
    fields: readonly string[],
    change: (current: Template) => { settings: TemplateSettings; replacesWorkers: boolean },
  ): Promise<{ template: Template; endpointIds: string[] } | 'taken' | undefined> {
    const { accountId } = actor;
    return retryOnDeadlock(() =>
      this.#database.db.transaction(async (tx) => {
        const [current] = await tx
          .select()
          .from(template)
          .where(and(eq(template.id, id), eq(template.accountId, accountId)))
          .for('update');
        if (!current) return undefined;
        const { settings, replacesWorkers } = change(this.#fromRow(current));
        if (settings.registryAuthId !== current.registryAuthId)
          await holdRegistryAuth(tx, accountId, settings.registryAuthId);
        const [other] = await tx
          .select({ id: template.id })
          .from(template)
          .where(and(eq(template.accountId, accountId), eq(template.name, settings.name)));
        if (other && other.id !== id) return 'taken';
        const version = current.version + (replacesWorkers ? 1 : 0);
        const [row] = await tx
          .update(template)
          .set({ ...settings, ...this.#sealed(id, settings), version })
          .where(eq(template.id, id))
          .returning();
        // Endpoints of other accounts keep their pinned version.
        const raised = !replacesWorkers
          ? []
          : await tx
              .update(endpoint)
              .set({ version: sql`${endpoint.version} + 1` })
              .where(and(eq(endpoint.templateId, id), eq(endpoint.accountId, accountId)))
              .returning({ id: endpoint.id, version: endpoint.version });
        const values = changedValues(this.#fromRow(current), settings);
        await recordReleases(tx, { keyId: actor.keyId, action: 'UpdateTemplate', fields, values, isNew: true }, raised);
        if (replacesWorkers) await notifyUsers(tx, current, fields);
        await recordChange(tx, { ...actor, action: 'UpdateTemplate', subjectId: id, fields, values });
        return { template: this.#fromRow(row!), endpointIds: raised.map((found) => found.id) };
      }),
    ).catch((error: unknown) => {
      // Only the constraint detects two renames at the same moment.
      if (isDuplicate(error)) return 'taken';
      throw error;
    });
  }

  /** Deletes a template unless endpoints use it. Returns `undefined` if there is no such template in this account. */
  async remove(id: string, actor: Actor): Promise<TemplateRemoval | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const [current] = await tx
        .select({ id: template.id })
        .from(template)
        .where(and(eq(template.id, id), eq(template.accountId, actor.accountId)))
        .for('update');
      if (!current) return undefined;
      const uses = eq(endpoint.templateId, id);
      const usedBy = await tx
        .select({ id: endpoint.id })
        .from(endpoint)
        .where(and(uses, eq(endpoint.accountId, actor.accountId)))
        .limit(USERS_NAMED_MAX);
      const elsewhere = await tx
        .select({ id: endpoint.id })
        .from(endpoint)
        .where(and(uses, ne(endpoint.accountId, actor.accountId)))
        .limit(1);
      const usedElsewhere = elsewhere.length > 0;
      if (usedBy.length > 0 || usedElsewhere)
        return { removed: false, usedBy: usedBy.map((user) => user.id), usedElsewhere };
      await recordChange(tx, { ...actor, action: 'DeleteTemplate', subjectId: id, fields: [] });
      await tx.delete(template).where(eq(template.id, id));
      return { removed: true };
    });
  }

  #sealed(id: string, { env }: TemplateSettings) {
    return sealEnv(this.#sealer, env, templateEnvIdentity(id));
  }

  #fromRow({ envSealed, secretNames: _names, ...row }: typeof template.$inferSelect): Template {
    return { ...row, env: openEnv(this.#sealer, { env: row.env, envSealed }, templateEnvIdentity(row.id)) };
  }
}
