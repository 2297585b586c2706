/** Stores endpoints. */
import { and, eq, inArray, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { template } from '@slipway/drizzle/schema/template';
import type { Sealer } from '@slipway/kit/host/seal';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import type { Endpoint, EndpointSettings } from '../../domain/resources/endpoint.ts';
import { changedValues, createdValues, SECRET_VALUE } from '../../domain/resources/release-values.ts';
import type { Template } from '../../domain/resources/template.ts';
import { checkVolumesOfEndpoint } from '../../domain/resources/volume.ts';
import { filledFields } from '../../domain/settings/fields.ts';
import { endpointEnvIdentity } from '../../domain/settings/sealed-identity.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { envBytes, sealEnv } from '../sql/env-seals.ts';
import { textArray } from '../sql/pack.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byNumber, byText, readPage } from '../sql/page.ts';
import { retryOnDeadlock } from '../sql/transient.ts';
import { claimCreation } from './creation-rows.ts';
import { ENDPOINT_FILTERS, endpointFromRow } from './endpoint-rows.ts';
import type { NewOwnTemplate } from './own-template-rows.ts';
import {
  dropOwnTemplate,
  insertOwnTemplate,
  lockRunTemplate,
  renameOwnTemplate,
  saveOwnTemplate,
} from './own-template-rows.ts';
import { pinTemplate } from './pinned-template-rows.ts';
import { recordReleases } from './release-rows.ts';
import { holdTemplate, TEMPLATE_BYTES } from './template-rows.ts';
import { holdVolumes } from './volume-rows.ts';
import { claimEndpointId } from './wanted-ids.ts';

/** Fields of a new endpoint besides its settings. */
interface NewEndpoint {
  id: string;
  /** The caller chose the id. */
  isWanted: boolean;
  /** `undefined` if the creation is not repeatable. */
  key?: CreationKey | undefined;
  /** Sealed secret. Null: webhook calls are not signed. */
  webhookSecretSealed: Buffer | null;
  /** Own template, which is created with the endpoint. */
  own?: NewOwnTemplate | undefined;
}

/** Result of a change. */
interface EndpointUpdate {
  settings: EndpointSettings;
  replacesWorkers: boolean;
  /** `undefined` if it does not change. */
  webhookSecretSealed?: Buffer | null | undefined;
  /** New own template. `undefined` if the template does not change, or is named in the settings. */
  own?: NewOwnTemplate | undefined;
}

/** Result of a try in which the endpoint's template changed between two reads. */
const AGAIN = 'again';

/** Fields of an endpoint that decide about access to it. */
export type OwnedEndpoint = Pick<Endpoint, 'id' | 'accountId' | 'type'>;

/** Value of a webhook secret that was set or removed. */
const HIDDEN_WEBHOOK = { webhook_secret: SECRET_VALUE };

export class EndpointStore {
  readonly #database: Database;
  readonly #sealer: Sealer;

  constructor(database: Database, sealer: Sealer) {
    this.#database = database;
    this.#sealer = sealer;
  }

  /**
   * Creates an endpoint. Throws INVALID_REQUEST if its template can no longer be used, its network volumes are not all
   * in the account, or two are in one data center. NAME_TAKEN: its id is not free. RepeatedCreation: it was created
   * before.
   */
  async create(fresh: NewEndpoint, actor: Actor, settings: EndpointSettings): Promise<Endpoint> {
    const { accountId } = actor;
    return this.#database.db.transaction(async (tx) => {
      const { own, key, isWanted, ...columns } = fresh;
      await claimCreation(tx, key, fresh.id);
      if (isWanted) await claimEndpointId(tx, fresh.id);
      if (own) await insertOwnTemplate(tx, this.#sealer, { accountId, endpointId: fresh.id }, own);
      else await holdTemplate(tx, accountId, settings.templateId);
      checkVolumesOfEndpoint(settings.networkVolumeIds, await holdVolumes(tx, accountId, settings.networkVolumeIds));
      const [inserted] = await tx
        .insert(endpoint)
        .values({ ...settings, ...this.#sealed(fresh.id, settings), ...columns, accountId })
        .returning();
      const row = inserted!;
      await pinTemplate(tx, actor, row.id, settings.templateId);
      const fields = [
        ...filledFields(settings),
        ...(fresh.webhookSecretSealed ? ['webhook_secret'] : []),
        ...(isWanted ? ['wanted_id'] : []),
      ];
      const made = { ...createdValues(settings, fields), ...(fresh.webhookSecretSealed && HIDDEN_WEBHOOK) };
      await recordChange(tx, { ...actor, action: 'CreateEndpoint', subjectId: row.id, fields, values: made });
      const values = changedValues({}, settings);
      await recordReleases(tx, { keyId: actor.keyId, action: 'CreateEndpoint', fields, values, isNew: true }, [row]);
      return endpointFromRow(this.#sealer, row);
    });
  }

  /** Returns endpoints by id, of any account. */
  async byIds(ids: readonly string[]): Promise<Endpoint[]> {
    const rows = await this.#database.urgent.db
      .select()
      .from(endpoint)
      .where(inArray(endpoint.id, [...ids]));
    return rows.map((row) => endpointFromRow(this.#sealer, row));
  }

  /**
   * Returns the accounts of endpoints. It is read for each request to an endpoint that was not used lately, so without
   * settings.
   */
  async owned(ids: readonly string[]): Promise<OwnedEndpoint[]> {
    return this.#database.urgent.sql<OwnedEndpoint[]>`
      SELECT id, account_id AS "accountId", type FROM endpoint WHERE id = ANY(${textArray(ids)}::text[])`;
  }

  /**
   * Returns a page of the endpoints of an account, oldest first. `only`: these endpoints; empty: all. `withTemplates`:
   * counts the bytes of their templates as part of the page.
   */
  async list(
    accountId: string,
    only: readonly string[],
    withTemplates: boolean,
    page: PageRequest,
  ): Promise<Page<Endpoint>> {
    const where = and(
      eq(endpoint.accountId, accountId),
      only.length === 0 ? undefined : inArray(endpoint.id, [...only]),
    );
    const run = sql`(SELECT ${TEMPLATE_BYTES} FROM ${template} WHERE ${template.id} = ${endpoint.templateId})`;
    const bytes = sql`1000 + ${envBytes(endpoint)} + octet_length(${endpoint.exampleInput})
      + ${withTemplates ? run : 0}`;
    const sorts = {
      name: byText(endpoint.name),
      type: byText(endpoint.type),
      workers_min: byNumber(endpoint.workersMin),
      workers_max: byNumber(endpoint.workersMax),
    };
    const listed = {
      from: endpoint,
      id: endpoint.id,
      createdAt: endpoint.createdAt,
      bytes,
      where,
      searched: [endpoint.name],
      sorts,
      filters: ENDPOINT_FILTERS,
    };
    return readPage(this.#database, listed, page, async (ids) =>
      (await this.#database.db.select().from(endpoint).where(inArray(endpoint.id, ids))).map((row) =>
        endpointFromRow(this.#sealer, row),
      ),
    );
  }

  /**
   * Changes an endpoint under its lock. `change` gets the current endpoint and returns the new settings, whether they
   * replace workers and, if it changes, the sealed webhook secret. `fields`: names of the fields that the caller set.
   * `templateId`: the template, if it is one of them. `changesRun`: `change` also gets the endpoint's template and may
   * return a new own template. Returns `undefined` if there is no such endpoint in this account. Throws INVALID_REQUEST
   * if its new template can no longer be used, its new network volumes are not all in the account, or two are in one
   * data center.
   */
  async update(
    id: string,
    actor: Actor,
    {
      fields,
      templateId,
      changesRun = false,
    }: { fields: readonly string[]; templateId: string | undefined; changesRun?: boolean },
    change: (current: Endpoint, run: Template | undefined) => EndpointUpdate,
  ): Promise<Endpoint | undefined> {
    const update = (): Promise<Endpoint | typeof AGAIN | undefined> =>
      retryOnDeadlock(() =>
        this.#database.db.transaction(async (tx) => {
          if (templateId !== undefined) await holdTemplate(tx, actor.accountId, templateId);
          const owner = { accountId: actor.accountId, endpointId: id };
          // Templates are locked before the endpoints that run them.
          const run = changesRun ? await lockRunTemplate(tx, this.#sealer, owner) : undefined;
          const current = await this.#locked(tx, id, actor.accountId);
          if (!current) return undefined;
          if (changesRun && run?.id !== current.templateId) return AGAIN;
          const { settings: wanted, replacesWorkers: replaces, webhookSecretSealed, own } = change(current, run);
          const saved = own && run ? await saveOwnTemplate(tx, this.#sealer, owner, run, own) : undefined;
          const settings = saved ? { ...wanted, templateId: saved.templateId } : wanted;
          const replacesWorkers = replaces || saved?.replacesWorkers === true;
          if (String(settings.networkVolumeIds) !== String(current.networkVolumeIds)) {
            checkVolumesOfEndpoint(
              settings.networkVolumeIds,
              await holdVolumes(tx, actor.accountId, settings.networkVolumeIds),
            );
          }
          const given = saved?.templateId ?? templateId;
          const isNewlyGiven = given !== undefined && (await pinTemplate(tx, actor, id, given));
          const version = current.version + (replacesWorkers || isNewlyGiven ? 1 : 0);
          const secret = webhookSecretSealed === undefined ? {} : { webhookSecretSealed };
          const [row] = await tx
            .update(endpoint)
            .set({ ...settings, ...this.#sealed(id, settings), ...secret, version })
            .where(eq(endpoint.id, id))
            .returning();
          await dropOwnTemplate(tx, id, row!.templateId);
          if (settings.name !== current.name) await renameOwnTemplate(tx, id, settings.name);
          const values = {
            ...changedValues(current, settings),
            ...(own && run ? changedValues(run, own.settings, 'template.') : {}),
          };
          const audited = { ...values, ...(webhookSecretSealed !== undefined && HIDDEN_WEBHOOK) };
          await recordChange(tx, { ...actor, action: 'UpdateEndpoint', subjectId: id, fields, values: audited });
          await recordReleases(
            tx,
            { keyId: actor.keyId, action: 'UpdateEndpoint', fields, values, isNew: version > current.version },
            [row!],
          );
          return endpointFromRow(this.#sealer, row!);
        }),
      );
    for (;;) {
      const updated = await update();
      if (updated !== AGAIN) return updated;
    }
  }

  /**
   * Raises the version and changes nothing else. `atOnce`: workers of earlier versions stop without waiting for new
   * ones. Returns `undefined` if there is no such endpoint in this account.
   */
  async raiseVersion(id: string, actor: Actor, atOnce: boolean): Promise<Endpoint | undefined> {
    return retryOnDeadlock(() =>
      this.#database.db.transaction(async (tx) => {
        const [row] = await tx
          .update(endpoint)
          .set({ version: sql`${endpoint.version} + 1` })
          .where(and(eq(endpoint.id, id), eq(endpoint.accountId, actor.accountId)))
          .returning();
        if (!row) return undefined;
        await recordChange(tx, { ...actor, action: 'RestartEndpoint', subjectId: id, fields: [] });
        await recordReleases(tx, { keyId: actor.keyId, action: 'RestartEndpoint', fields: [], isNew: true, atOnce }, [
          row,
        ]);
        return endpointFromRow(this.#sealer, row);
      }),
    );
  }

  /**
   * Deletes an endpoint under its lock, with its counters, workers and own template. `check` gets the endpoint first
   * and may throw. Returns the machines of its workers. `undefined` if there is no such endpoint in this account. The
   * caller must delete its jobs afterwards.
   */
  async remove(id: string, actor: Actor, check?: (current: Endpoint) => void): Promise<string[] | undefined> {
    return retryOnDeadlock(() =>
      this.#database.db.transaction(async (tx) => {
        const current = await this.#locked(tx, id, actor.accountId);
        if (!current) return undefined;
        check?.(current);
        const machines = await tx.execute<{ machine_id: string }>(
          sql`SELECT DISTINCT machine_id FROM worker WHERE endpoint_id = ${id}`,
        );
        // The secret is deleted with the endpoint. A call that its receiver can verify must not be sent unsigned.
        await tx.execute(sql`DELETE FROM webhook_delivery w USING endpoint e
        WHERE e.id = ${id} AND e.webhook_secret_sealed IS NOT NULL AND w.endpoint_id = e.id`);
        await recordChange(tx, { ...actor, action: 'DeleteEndpoint', subjectId: id, fields: [] });
        await tx.delete(endpoint).where(eq(endpoint.id, id));
        await dropOwnTemplate(tx, id);
        return machines.map((row) => row.machine_id);
      }),
    );
  }

  async #locked(tx: Transaction, id: string, accountId: string): Promise<Endpoint | undefined> {
    const [row] = await tx
      .select()
      .from(endpoint)
      .where(and(eq(endpoint.id, id), eq(endpoint.accountId, accountId)))
      .for('update');
    return row && endpointFromRow(this.#sealer, row);
  }

  #sealed(id: string, { env }: EndpointSettings) {
    return sealEnv(this.#sealer, env, endpointEnvIdentity(id));
  }
}
