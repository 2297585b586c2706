/** Stores network volumes. */
import { and, eq, inArray, sql } from '@slipway/drizzle/orm';
import { endpoint } from '@slipway/drizzle/schema/endpoint';
import { networkVolume } from '@slipway/drizzle/schema/network-volume';
import { pod } from '@slipway/drizzle/schema/pod';
import type { Actor } from '../../domain/accounts/permission.ts';
import type { CreationKey } from '../../domain/resources/creation-key.ts';
import { changedValues, createdValues } from '../../domain/resources/release-values.ts';
import type { NetworkVolume, VolumeSettings } from '../../domain/resources/volume.ts';
import { VOLUME_SETTINGS } from '../../domain/resources/volume.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Transaction } from '../sql/database.ts';
import { whereValue } from '../sql/list-filter.ts';
import type { Page, PageRequest } from '../sql/page.ts';
import { byNumber, byText, readPage } from '../sql/page.ts';
import { claimCreation } from './creation-rows.ts';

/** Searched fields, orders and filters of a list of volumes. */
const VIEWED = {
  searched: [networkVolume.name, networkVolume.dataCenterId],
  sorts: {
    name: byText(networkVolume.name),
    size: byNumber(networkVolume.sizeGb),
    data_center: byText(networkVolume.dataCenterId),
  },
  filters: { data_center: whereValue(networkVolume.dataCenterId) },
};

/** Users of a volume: ids, at most ten of each kind. */
export interface VolumeUsers {
  endpointIds: string[];
  podIds: string[];
}

/** Result of a deletion. */
type VolumeRemoval = { removed: true } | { removed: false; usedBy: VolumeUsers };

const USERS_NAMED_MAX = 10;
const FIELDS = Object.keys(VOLUME_SETTINGS) as (keyof VolumeSettings)[];

export class VolumeStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Creates a volume. Throws RepeatedCreation if it was created before. */
  async create(
    id: string,
    actor: Actor,
    settings: VolumeSettings,
    key: CreationKey | undefined,
  ): Promise<NetworkVolume> {
    return this.#database.db.transaction(async (tx) => {
      await claimCreation(tx, key, id);
      const [row] = await tx
        .insert(networkVolume)
        .values({ ...settings, id, accountId: actor.accountId })
        .returning();
      const fields = ['name', 'size_gb', 'data_center_id'];
      const values = createdValues(settings, fields);
      await recordChange(tx, { ...actor, action: 'CreateNetworkVolume', subjectId: id, fields, values });
      return row!;
    });
  }

  /**
   * Returns a volume. `only`: one of these endpoints must have it; empty: any. `undefined` if there is no such volume
   * in this account.
   */
  async get(id: string, accountId: string, only: readonly string[]): Promise<NetworkVolume | undefined> {
    const [row] = await this.#database.db
      .select()
      .from(networkVolume)
      .where(and(eq(networkVolume.id, id), eq(networkVolume.accountId, accountId), this.#attached(accountId, only)));
    return row;
  }

  /** Returns a page of the volumes of an account, oldest first. `only`: volumes of these endpoints; empty: all. */
  async list(accountId: string, only: readonly string[], page: PageRequest): Promise<Page<NetworkVolume>> {
    const where = and(eq(networkVolume.accountId, accountId), this.#attached(accountId, only));
    const listed = {
      from: networkVolume,
      id: networkVolume.id,
      createdAt: networkVolume.createdAt,
      bytes: sql`1000`,
      where,
      ...VIEWED,
    };
    return readPage(this.#database, listed, page, (ids) =>
      this.#database.db.select().from(networkVolume).where(inArray(networkVolume.id, ids)),
    );
  }

  /** Returns the condition for volumes that one of these endpoints has. No endpoints: all volumes. */
  #attached(accountId: string, only: readonly string[]) {
    if (only.length === 0) return undefined;
    const users = this.#database.db
      .select({ id: sql`unnest(${endpoint.networkVolumeIds})` })
      .from(endpoint)
      .where(and(eq(endpoint.accountId, accountId), inArray(endpoint.id, [...only])));
    return inArray(networkVolume.id, users);
  }

  /**
   * Changes a volume under its lock. `fields`: names of the fields that the caller set. Returns `undefined` if there is
   * no such volume in this account.
   */
  async update(
    id: string,
    actor: Actor,
    fields: readonly string[],
    change: (current: NetworkVolume) => VolumeSettings,
  ): Promise<NetworkVolume | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const current = await locked(tx, id, actor.accountId);
      if (!current) return undefined;
      const settings = change(current);
      // A trigger that fires when the size is set meters usage, so an unchanged size is not set.
      const named = FIELDS.filter((field) => field !== 'sizeGb' || settings.sizeGb !== current.sizeGb);
      const set = Object.fromEntries(named.map((field) => [field, settings[field]]));
      const [row] = await tx.update(networkVolume).set(set).where(eq(networkVolume.id, id)).returning();
      const values = changedValues(current, settings);
      await recordChange(tx, { ...actor, action: 'UpdateNetworkVolume', subjectId: id, fields, values });
      return row;
    });
  }

  /**
   * Deletes a volume unless endpoints or pods use it. Returns `undefined` if there is no such volume in this account.
   */
  async remove(id: string, actor: Actor): Promise<VolumeRemoval | undefined> {
    return this.#database.db.transaction(async (tx) => {
      if (!(await locked(tx, id, actor.accountId))) return undefined;
      const endpoints = await tx
        .select({ id: endpoint.id })
        .from(endpoint)
        .where(and(eq(endpoint.accountId, actor.accountId), sql`${id} = ANY(${endpoint.networkVolumeIds})`))
        .limit(USERS_NAMED_MAX);
      const pods = await tx
        .select({ id: pod.id })
        .from(pod)
        .where(and(eq(pod.accountId, actor.accountId), eq(pod.networkVolumeId, id)))
        .limit(USERS_NAMED_MAX);
      if (endpoints.length + pods.length > 0) {
        return {
          removed: false,
          usedBy: { endpointIds: endpoints.map((user) => user.id), podIds: pods.map((user) => user.id) },
        };
      }
      await recordChange(tx, { ...actor, action: 'DeleteNetworkVolume', subjectId: id, fields: [] });
      await tx.delete(networkVolume).where(eq(networkVolume.id, id));
      return { removed: true };
    });
  }
}

async function locked(tx: Transaction, id: string, accountId: string): Promise<NetworkVolume | undefined> {
  const [row] = await tx
    .select()
    .from(networkVolume)
    .where(and(eq(networkVolume.id, id), eq(networkVolume.accountId, accountId)))
    .for('update');
  return row;
}
