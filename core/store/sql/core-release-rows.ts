/** Rows about releases of core that have started on a database, and which of them may run on it. */
import type { Sql } from './database.ts';
import { journalOf } from './journal.ts';
import { neededMigration } from './rollback-statement.ts';

/** Records that a release starts, with its schema and what a database with that schema needs. */
export async function recordStart(sql: Sql, version: string): Promise<void> {
  const newest = journalOf().at(-1)!;
  const needed = neededMigration();
  await sql`
    INSERT INTO core_release (version, schema, schema_name, needs_schema, needs_schema_name, needs_reason)
    VALUES (${version}, ${newest.when}, ${newest.tag}, ${needed.schema}, ${needed.name}, ${needed.reason})
    ON CONFLICT (version, schema) DO UPDATE SET last_started_at = now(), needs_schema = excluded.needs_schema,
      needs_schema_name = excluded.needs_schema_name, needs_reason = excluded.needs_reason`;
}

/** Record of the release that last migrated a database. */
export interface NewestRelease {
  version: string;
  schemaName: string;
  needsSchema: number;
  needsSchemaName: string;
  needsReason: string;
}

/** Returns the record of the release with this schema. `undefined` if there is none. */
export async function releaseWith(sql: Sql, schema: number): Promise<NewestRelease | undefined> {
  const [table] = await sql<{ name: string | null }[]>`SELECT to_regclass('core_release')::text AS name`;
  if (!table?.name) return undefined;
  const [row] = await sql<NewestRelease[]>`
    SELECT version, schema_name AS "schemaName", needs_schema AS "needsSchema", needs_schema_name AS "needsSchemaName",
      needs_reason AS "needsReason"
    FROM core_release WHERE schema = ${schema} ORDER BY last_started_at DESC LIMIT 1`;
  return row;
}
