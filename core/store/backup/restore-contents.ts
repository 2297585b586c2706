/**
 * Fills an empty database with the contents of another, in one transaction: all of it is there afterwards, or nothing.
 * The schema becomes the backup's; the first core that starts on it migrates it further.
 */
import { readFileSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Logger } from '@slipway/kit/log/logger';
import type { Sql } from '../sql/database.ts';
import { connect, inTransaction } from '../sql/database.ts';
import { journalOf, MIGRATIONS_FOLDER } from '../sql/journal.ts';
import { lockSchema } from '../sql/migrate.ts';
import type { AppliedMigration } from './backup-contents.ts';
import type { SequencePosition, TableShape } from './catalog-tables.ts';
import { isEmpty } from './catalog-tables.ts';

/** The backup cannot be restored here. The message says what to do. */
export class RestoreError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RestoreError';
  }
}

/** Takes the contents of a backup. Tables come in the order of the backup. */
interface ContentsWriter {
  /** Writes the rows of a table, in PostgreSQL's text format. */
  table({ name, columns }: TableShape, rows: AsyncIterable<Buffer>): Promise<void>;
  /** Sets sequences to their positions. */
  sequences(positions: readonly SequencePosition[]): Promise<void>;
}

/**
 * Makes the schema of the backup in an empty database and calls `write` to fill it. Throws RestoreError if the database
 * has tables, or if the backup is of a newer release than this one.
 */
export async function restoreContents(
  url: string,
  logger: Logger,
  migrations: readonly AppliedMigration[],
  write: (writer: ContentsWriter) => Promise<void>,
): Promise<void> {
  const sql = connect(url, 'slipway-restore', 1, logger, {
    client_min_messages: 'warning',
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  });
  try {
    await inTransaction(sql, async (tx) => {
      // A core that starts now waits for this lock before it creates its tables.
      await lockSchema(tx);
      if (!(await isEmpty(tx)))
        throw new RestoreError(
          'The database is not empty. Restore into a new one (createdb), and then let core use it: nothing is ever ' +
            'overwritten.',
        );
      await makeSchema(tx, migrations);
      const tables = await withoutTriggers(tx);
      await write({
        table: (table, rows) => copyIn(tx, table, rows),
        sequences: (positions) => setSequences(tx, positions),
      });
      for (const name of tables) await tx.unsafe(`ALTER TABLE public."${name}" ENABLE TRIGGER USER`);
    });
    await sql`ANALYZE`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

/** Applies the migrations that the backup's database had. */
async function makeSchema(tx: Sql, migrations: readonly AppliedMigration[]): Promise<void> {
  const known = journalOf();
  const newest = Math.max(...migrations.map(({ when }) => when));
  if (newest > Math.max(...known.map(({ when }) => when)))
    throw new RestoreError(
      'The backup is of a newer version of Slipway. Restore it with that version, or a later one.',
    );
  await tx`CREATE SCHEMA IF NOT EXISTS drizzle`;
  await tx`CREATE TABLE drizzle.__drizzle_migrations (id serial PRIMARY KEY, hash text NOT NULL, created_at bigint)`;
  for (const { when, tag } of known.filter((each) => each.when <= newest)) {
    const applied = migrations.find((each) => each.when === when);
    if (!applied) throw new RestoreError(`The backup lacks migration ${tag}: it is of another program than this.`);
    for (const statement of readFileSync(`${MIGRATIONS_FOLDER}/${tag}.sql`, 'utf8').split('--> statement-breakpoint'))
      await tx.unsafe(statement);
    await tx`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES (${applied.hash}, ${when})`;
  }
}

/** Switches triggers off: what they would write is in the backup. Returns the names of the tables. */
async function withoutTriggers(tx: Sql): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`;
  for (const { name } of rows) await tx.unsafe(`ALTER TABLE public."${name}" DISABLE TRIGGER USER`);
  // Rows that migrations made are in the backup too.
  await tx.unsafe(`TRUNCATE ${rows.map(({ name }) => `public."${name}"`).join(', ')}`);
  return rows.map(({ name }) => name);
}

async function copyIn(tx: Sql, { name, columns }: TableShape, rows: AsyncIterable<Buffer>): Promise<void> {
  const list = columns.map((column) => `"${column}"`).join(', ');
  const sink = await tx.unsafe(`COPY public."${name}" (${list}) FROM STDIN`).writable();
  await pipeline(rows, sink, { end: false });
  // The driver reports no fault that PostgreSQL finds after the last row. The next statement then fails.
  sink.end();
  try {
    await tx`SELECT 1`;
  } catch (error) {
    throw new Error(`table ${name} cannot be restored: ${(error as Error).message}`, { cause: error });
  }
}

async function setSequences(tx: Sql, positions: readonly SequencePosition[]): Promise<void> {
  for (const { name, last } of positions) await tx`SELECT setval(${`public."${name}"`}::regclass, ${last})`;
}
