/** Decides whether this build may run on a database that a newer one has migrated. */

import type { NewestRelease } from './core-release-rows.ts';
import { releaseWith } from './core-release-rows.ts';
import type { Sql } from './database.ts';
import { journalOf } from './journal.ts';

const PAGE = 'docs/operate/upgrade.md';

/** The database was migrated by a newer build, and this one may not run on it, or --allow-newer-database is missing. */
export class NewerDatabaseError extends Error {
  constructor(newer: NewestRelease | undefined, mayRun: boolean) {
    const by = newer ? ` (${newer.version}, schema ${newer.schemaName})` : '';
    const advice = mayRun
      ? 'This one may run on it: start it with --allow-newer-database (SLIPWAY_ALLOW_NEWER_DATABASE=true) to go back.'
      : `${whyNot(newer)} Run that version, or restore a backup from before the upgrade.`;
    super(`The database was migrated by a newer version of Slipway${by}. ${advice} See ${PAGE}.`);
    this.name = 'NewerDatabaseError';
  }
}

function whyNot(newer: NewestRelease | undefined): string {
  if (!newer) return 'It has no record that this one may run on it.';
  const { needsSchemaName, needsReason } = newer;
  return `This one cannot run on it: core must have schema ${needsSchemaName} or a later one (${needsReason}).`;
}

/**
 * Returns whether the database is newer than this build, which may run on it. Throws NewerDatabaseError if it may not,
 * or if `isAllowed` is false.
 */
export async function runsOnNewer(sql: Sql, isAllowed: boolean): Promise<boolean> {
  const known = journalOf().at(-1)!.when;
  const newest = await newestApplied(sql);
  if (newest <= known) return false;
  const newer = await releaseWith(sql, newest);
  const mayRun = newer !== undefined && newer.needsSchema <= known;
  if (!mayRun || !isAllowed) throw new NewerDatabaseError(newer, mayRun);
  return true;
}

/** Returns the creation time of the newest migration of the database. 0: it has none. */
async function newestApplied(sql: Sql): Promise<number> {
  const [table] = await sql<
    { name: string | null }[]
  >`SELECT to_regclass('drizzle.__drizzle_migrations')::text AS name`;
  if (!table?.name) return 0;
  const [row] = await sql<
    { newest: number | null }[]
  >`SELECT max(created_at) AS newest FROM drizzle.__drizzle_migrations`;
  return row?.newest ?? 0;
}
