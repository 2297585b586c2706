/**
 * Statements of migrations about a rollback: whether a core of an earlier release may run on the database afterwards.
 * The first line of each migration's file is one of
 *
 *     -- Rollback: yes.
 *     -- Rollback: to 0056_name and later. Reason: what earlier releases would do wrong.
 *     -- Rollback: no. Reason: what earlier releases would do wrong.
 */
import { readFileSync } from 'node:fs';
import type { KnownMigration } from './journal.ts';
import { journalOf, MIGRATIONS_FOLDER } from './journal.ts';

/** Number of the first migration with a statement. No release with fewer migrations can run on a newer database. */
export const FIRST_STATED = 55;

/** A statement: `to` names the oldest migration that the earlier release must know. */
type RollbackStatement = { is: 'yes' } | { is: 'to'; to: string; reason: string } | { is: 'no'; reason: string };

const FORM = /^-- Rollback: (?:(yes)\.|(?:to (\d{4}_\w+) and later|no)\. Reason: (\S.*))$/;

/** Parses the first line of a migration. Returns `undefined` if it is no statement. */
export function parseStatement(text: string): RollbackStatement | undefined {
  const [found, yes, to, reason = ''] = FORM.exec(text.split('\n', 1)[0]!) ?? [];
  if (found === undefined) return undefined;
  if (yes !== undefined) return { is: 'yes' };
  return to === undefined ? { is: 'no', reason } : { is: 'to', to, reason };
}

/** The oldest schema with which a core may run on a database. */
interface NeededMigration {
  schema: number;
  name: string;
  /** Why an older one may not. */
  reason: string;
}

/** Returns what a database with all migrations of this build needs. Throws if a migration has no statement. */
export function neededMigration(): NeededMigration {
  return neededBy(journalOf(), (tag) => readFileSync(`${MIGRATIONS_FOLDER}/${tag}.sql`, 'utf8'));
}

/** Returns what a database with these migrations needs. `read` returns the text of one. */
export function neededBy(migrations: readonly KnownMigration[], read: (tag: string) => string): NeededMigration {
  const { when, tag } = migrations[FIRST_STATED - 1]!;
  let needed: NeededMigration = { schema: when, name: tag, reason: 'earlier releases cannot run on a newer database' };
  for (const migration of migrations.slice(FIRST_STATED)) {
    const statement = parseStatement(read(migration.tag));
    if (!statement) throw new Error(`${migration.tag}.sql does not begin with a statement about a rollback.`);
    if (statement.is === 'yes') continue;
    const oldest = statement.is === 'no' ? migration : migrations.find(({ tag: each }) => each === statement.to);
    if (!oldest || oldest.when > migration.when)
      throw new Error(`${migration.tag}.sql names a migration that does not exist before it.`);
    if (oldest.when > needed.schema) needed = { schema: oldest.when, name: oldest.tag, reason: statement.reason };
  }
  return needed;
}
