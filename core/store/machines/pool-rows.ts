/** Pools as their rows: read for a machine that joins, and locked against changes meanwhile. */
import type { PoolSettingsRow } from '@slipway/drizzle/schema/machines/machine-pool';
import type { PoolFields } from '../../domain/machines/machine-pool.ts';
import type { Statement } from '../sql/database.ts';

/** Key of the advisory lock for pools: a machine that joins shares it, and a change of a pool holds it alone. */
const POOL_LOCK = 5_947_213_007;

/** A row of the table of pools. */
export interface PoolRow {
  labels: Record<string, string>;
  locations: string[];
  settings: PoolSettingsRow;
}

/** Waits for machines that are joining, and keeps others from joining until the transaction ends. */
export async function lockPools(statement: Statement): Promise<void> {
  await statement`SELECT pg_advisory_xact_lock(${POOL_LOCK})`;
}

/** Waits for changes of pools, and keeps them from changing until the transaction ends. */
export async function keepPools(statement: Statement): Promise<void> {
  await statement`SELECT pg_advisory_xact_lock_shared(${POOL_LOCK})`;
}

/** Reads a pool. `undefined` if none of this name was set. */
export async function readPool(statement: Statement, name: string): Promise<PoolFields | undefined> {
  const [row] = await statement<PoolRow[]>`SELECT labels, locations, settings FROM machine_pool WHERE name = ${name}`;
  return row && poolOf(row);
}

/** Returns the fields of a pool. */
export function poolOf({ labels, locations, settings }: PoolRow): PoolFields {
  return { labels, locations, ...settings };
}
