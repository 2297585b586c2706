/** Migrates a database to the schema of this build, once at a time however many replicas start together. */
import { drizzle, migrate as runMigrations } from '@slipway/drizzle/orm';
import type { Logger } from '@slipway/kit/log/logger';
import { recordStart } from './core-release-rows.ts';
import type { Sql } from './database.ts';
import { connect } from './database.ts';
import { tuneHotTables } from './hot-tables.ts';
import { MIGRATIONS_FOLDER } from './journal.ts';
import { buildLargeIndexes } from './large-indexes.ts';
import { runsOnNewer } from './newer-database.ts';
import type { ServerAnswers } from './server-answers.ts';

/** Key of the advisory lock: any number that is otherwise unused. drizzle's migrator takes no lock itself. */
const LOCK = 5_947_213_005;

/**
 * Longest wait of a migration for a table that a long transaction reads, for instance a backup. Then it lets the
 * waiting statements pass, and retries after a pause. Both in milliseconds.
 */
const TABLE_MS_MAX = 2_000;
const TABLE_PAUSE_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * The database accepts no writes: it is a standby of another, or was made read-only. Has PostgreSQL's own code, because
 * the state may be temporary.
 */
class ReadOnlyDatabaseError extends Error {
  readonly code = '25006';

  constructor(isStandby: boolean) {
    super(
      isStandby
        ? 'the database is a standby (read-only): name the primary in SLIPWAY_DATABASE_URL, or promote ' +
            'this one; core waits'
        : 'the database is read-only (default_transaction_read_only is on for it, the server or the role): switch ' +
            'that off; core waits',
    );
    this.name = 'ReadOnlyDatabaseError';
  }
}

/** The release that migrates. */
export interface MigratingRelease {
  /** Version of core, which is recorded. Empty: nothing is recorded. */
  version: string;
  /** Whether it may run on a newer database that names it as compatible. */
  allowNewer: boolean;
}

/**
 * Applies missing migrations under an advisory lock on a separate connection. A newer database that this release may
 * run on stays as it is. NewerDatabaseError: it may not. ReadOnlyDatabaseError: the database accepts no writes.
 */
export async function migrate(
  database: { url: string; answers?: ServerAnswers },
  logger: Logger,
  release: MigratingRelease = { version: '', allowNewer: false },
): Promise<void> {
  // Building an index on millions of rows may exceed the operator's statement timeout.
  const settings = { client_min_messages: 'warning', statement_timeout: '0' };
  const sql = connect(database.url, 'slipway-migrate', 1, logger, settings, database);
  try {
    await rejectReadOnly(sql);
    await lock(sql);
    if (await runsOnNewer(sql, release.allowNewer)) {
      logger.warn('the database was migrated by a newer version of Slipway, which allows this one to run on it');
    } else {
      await buildLargeIndexes(sql, logger);
      await applyMigrations(sql, logger);
      await tuneHotTables(sql);
    }
    if (release.version !== '') await recordStart(sql, release.version);
  } finally {
    // Ending the connection frees the lock.
    await sql.end({ timeout: 5 });
  }
}

/** Polls: one long waiting statement would be a transaction that an index build waits for. */
async function lock(sql: Sql): Promise<void> {
  for (;;) {
    const [row] = await sql<{ locked: boolean }[]>`SELECT pg_try_advisory_lock(${LOCK}) AS locked`;
    if (row!.locked) return;
    await sql`SELECT pg_sleep(0.1)`;
  }
}

/** Applies all missing migrations in one transaction. */
async function applyMigrations(sql: Sql, logger: Logger): Promise<void> {
  await sql`SELECT set_config('lock_timeout', ${String(TABLE_MS_MAX)}, false)`;
  for (let tries = 1; ; tries += 1) {
    try {
      await runMigrations(drizzle(sql), { migrationsFolder: MIGRATIONS_FOLDER });
      break;
    } catch (error) {
      if (!isLocked(error)) throw error;
      if (tries === 1)
        logger.warn(
          'a long transaction, a backup for instance, uses a table that this release changes; trying ' +
            'again until it has ended',
        );
      await sql`SELECT pg_sleep(${TABLE_PAUSE_MS / 1_000})`;
    }
  }
  await sql`SELECT set_config('lock_timeout', '0', false)`;
}

function isLocked(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ((cause as { code?: string }).code === LOCK_NOT_AVAILABLE) return true;
  return false;
}

async function rejectReadOnly(sql: Sql): Promise<void> {
  const [row] = await sql<{ standby: boolean; readOnly: boolean }[]>`
    SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::boolean AS "readOnly"`;
  if (row!.standby || row!.readOnly) throw new ReadOnlyDatabaseError(row!.standby);
}

/** Keeps others from changing the schema until the end of the transaction. */
export async function lockSchema(sql: Sql): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${LOCK})`;
}
