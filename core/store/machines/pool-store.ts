/** Stores pools of machines, and gives their machines the labels and locations that they have from them. */
import type { MachinePool, MachineSettings, PoolFields } from '../../domain/machines/machine-pool.ts';
import { locationsIn, POOLS_MAX, settingsOf } from '../../domain/machines/machine-pool.ts';
import { changedValues } from '../../domain/resources/release-values.ts';
import { snake } from '../../domain/settings/fields.ts';
import { recordChange } from '../accounts/audit-rows.ts';
import type { Database, Statement } from '../sql/database.ts';
import { statementOf } from '../sql/database.ts';
import { textArray } from '../sql/pack.ts';
import type { PoolRow } from './pool-rows.ts';
import { lockPools, poolOf, readPool } from './pool-rows.ts';

const LISTED_MAX = 2_000;
const EMPTY: PoolFields = { labels: {}, locations: [] };

/** A pool that was changed, and its machines. */
interface ChangedPool {
  pool: MachinePool;
  machineIds: string[];
}

export class PoolStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the pools by name: those that were set, and those with machines. */
  async list(): Promise<MachinePool[]> {
    const rows = await this.#database.sql<(PoolRow & { name: string; machines: number })[]>`
      SELECT coalesce(p.name, m.pool) AS name, coalesce(m.machines, 0) AS machines, coalesce(p.labels, '{}') AS labels,
        coalesce(p.locations, '{}') AS locations, coalesce(p.settings, '{}') AS settings
      FROM machine_pool p
        FULL JOIN (SELECT pool, count(*)::int AS machines FROM machine WHERE pool <> '' GROUP BY pool) m
          ON m.pool = p.name
      ORDER BY 1 LIMIT ${LISTED_MAX}`;
    return rows.map((row) => ({ name: row.name, machines: row.machines, ...poolOf(row) }));
  }

  /** Returns the settings that machines have from their pools. Machines without a pool that was set are left out. */
  async settingsOf(machineIds: readonly string[]): Promise<Map<string, MachineSettings>> {
    const rows = await this.#database.sql<{ id: string; settings: MachineSettings }[]>`
      SELECT m.id, p.settings FROM machine m JOIN machine_pool p ON p.name = m.pool
      WHERE m.id = ANY(${[...machineIds]})`;
    return new Map(rows.map(({ id, settings }) => [id, settings]));
  }

  /** Creates or changes a pool, and moves its machines to their locations. `undefined`: there are too many pools. */
  async set(name: string, change: Partial<PoolFields>, keyId: string): Promise<ChangedPool | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      await lockPools(statement);
      const known = await readPool(statement, name);
      const [all] = await statement<{ pools: number }[]>`SELECT count(*)::int AS pools FROM machine_pool`;
      if (!known && all!.pools >= POOLS_MAX) return undefined;
      const before = known ?? EMPTY;
      const pool = { ...before, ...change };
      const settings = JSON.stringify(settingsOf(pool));
      await statement`
        INSERT INTO machine_pool (name, labels, locations, settings)
        VALUES (${name}, ${JSON.stringify(pool.labels)}::text::jsonb, ${textArray(pool.locations)}::text[],
          ${settings}::text::jsonb)
        ON CONFLICT (name) DO UPDATE SET (labels, locations, settings) =
          (excluded.labels, excluded.locations, excluded.settings)`;
      const values = changedValues(known ? before : {}, pool);
      const fields = Object.keys(change).map(snake);
      const subject = { subjectId: name, subjectName: name };
      if (!known || Object.keys(values).length > 0)
        await recordChange(tx, { accountId: '', keyId, action: 'SetMachinePool', ...subject, fields, values });
      const machineIds = await placeMachines(statement, name, pool);
      return { pool: { ...pool, name, machines: machineIds.length }, machineIds };
    });
  }

  /** Deletes a pool. Returns the machines that had it; `undefined` if there is no such pool. */
  async delete(name: string, keyId: string): Promise<string[] | undefined> {
    return this.#database.db.transaction(async (tx) => {
      const statement = statementOf(tx);
      await lockPools(statement);
      const known = await readPool(statement, name);
      if (!known) return undefined;
      const subject = { subjectId: name, subjectName: name };
      await recordChange(tx, { accountId: '', keyId, action: 'DeleteMachinePool', ...subject, fields: [] });
      await statement`DELETE FROM machine_pool WHERE name = ${name}`;
      return placeMachines(statement, name, undefined);
    });
  }
}

/** Writes where the machines of a pool are. Returns their ids. */
async function placeMachines(statement: Statement, name: string, pool: PoolFields | undefined): Promise<string[]> {
  // In the order of heartbeats, which lock many machines at once.
  const machines = await statement<{ id: string; own_locations: string[] }[]>`
    SELECT id, own_locations FROM machine WHERE pool = ${name} ORDER BY id FOR NO KEY UPDATE`;
  const placed = machines.map(({ id, own_locations: own }) => ({ id, locations: locationsIn(own, pool) }));
  await statement`
    UPDATE machine m SET locations = p.locations
    FROM jsonb_to_recordset(${JSON.stringify(placed)}::text::jsonb) AS p (id text, locations text[])
    WHERE m.id = p.id AND m.locations <> p.locations`;
  return machines.map(({ id }) => id);
}
