/** Reads which releases of core have started on this database. core/store/sql/core-release-rows.ts writes them. */
import type { CoreReleaseRecord } from '../../domain/reports/rollback.ts';
import type { Database, Sql } from '../sql/database.ts';

/** Most releases that are read: the latest ones. */
const RELEASES_MAX = 50;

export class CoreReleaseStore {
  readonly #sql: Sql;

  constructor({ sql }: Pick<Database, 'sql'>) {
    this.#sql = sql;
  }

  /** Returns them, newest schema first. */
  async list(): Promise<CoreReleaseRecord[]> {
    return this.#sql<CoreReleaseRecord[]>`
      SELECT version, schema, schema_name AS "schemaName", needs_schema AS "needsSchema",
        needs_schema_name AS "needsSchemaName", needs_reason AS "needsReason",
        (extract(epoch FROM first_started_at) * 1000)::bigint AS "firstStartedAtMs",
        (extract(epoch FROM last_started_at) * 1000)::bigint AS "lastStartedAtMs"
      FROM core_release ORDER BY schema DESC, last_started_at DESC LIMIT ${RELEASES_MAX}`;
  }
}
