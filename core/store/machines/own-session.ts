/**
 * Rejects connection poolers that share sessions between core and PostgreSQL. With them a singleton task would have no
 * holder or several, notices would not arrive, and queries would be planned by momentary statistics.
 */
import type { Logger } from '@slipway/kit/log/logger';
import type { Database, Sql } from '../sql/database.ts';
import { connect, HOT_SETTINGS } from '../sql/database.ts';
import { PROTOCOL_VIOLATION } from '../sql/transient.ts';

/** The connections are not sessions that belong to core alone. */
export class PoolerError extends Error {
  constructor(cause?: unknown) {
    super(
      'SLIPWAY_DATABASE_URL points to a pooler, such as PgBouncer, but core needs dedicated sessions. Use the ' +
        'address of PostgreSQL itself.',
      { cause },
    );
    this.name = 'PoolerError';
  }
}

/** Checks that each connection is a dedicated session with the requested settings. Throws PoolerError. */
export async function requireOwnSessions(
  { url, answers, password }: Pick<Database, 'url' | 'answers' | 'password'>,
  logger: Logger,
): Promise<void> {
  const sql = connect(url, 'slipway-check', 2, logger, HOT_SETTINGS, { answers, password });
  try {
    if (!(await hasSettings(sql)) || (await isShared(sql))) throw new PoolerError();
  } catch (error) {
    throw (error as { code?: unknown }).code === PROTOCOL_VIOLATION ? new PoolerError(error) : error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function hasSettings(sql: Sql): Promise<boolean> {
  const rows = await sql<
    { name: string; setting: string }[]
  >`SELECT name, setting FROM pg_settings WHERE name = ANY(${Object.keys(HOT_SETTINGS)})`;
  return rows.every(({ name, setting }) => setting === HOT_SETTINGS[name]);
}

/**
 * Returns true if connections are shared. While one connection is in a transaction, another one never has the same
 * server process. A pooler lends out the most recently used one.
 */
async function isShared(sql: Sql): Promise<boolean> {
  const [first, second] = [await sql.reserve(), await sql.reserve()];
  const pidOf = async (connection: Sql): Promise<number> =>
    (await connection<[{ pid: number }]>`SELECT pg_backend_pid() AS pid`)[0].pid;
  try {
    const before = await pidOf(first);
    await second.unsafe('BEGIN');
    const others = await pidOf(second);
    const shared = others === before || (await pidOf(first)) !== before;
    await second.unsafe('COMMIT');
    return shared;
  } finally {
    first.release();
    second.release();
  }
}
