/** Migrations of this build, in their order. */
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the migrations. */
export const MIGRATIONS_FOLDER = dirname(
  dirname(fileURLToPath(import.meta.resolve('@slipway/drizzle/migrations/meta/_journal.json'))),
);

/** A migration of this build. */
export interface KnownMigration {
  /** Time of its creation in milliseconds since 1970, by which drizzle orders migrations. */
  when: number;
  /** Name of its file without the ending. */
  tag: string;
}

/** Returns the migrations of this build in their order. */
export function journalOf(): KnownMigration[] {
  const journal = JSON.parse(readFileSync(`${MIGRATIONS_FOLDER}/meta/_journal.json`, 'utf8')) as {
    entries: KnownMigration[];
  };
  return journal.entries;
}
