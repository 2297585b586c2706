/** Reads the contents of a database for a backup, as of one moment, while core keeps running. */
import type { Logger } from '@slipway/kit/log/logger';
import type { Sql } from '../sql/database.ts';
import { connect, cutAll, resumeAll } from '../sql/database.ts';
import type { SequencePosition, TableShape } from './catalog-tables.ts';
import { listSequences, listTables } from './catalog-tables.ts';

/** A migration that was applied to a database. */
export interface AppliedMigration {
  hash: string;
  /** Its time in drizzle's journal, in milliseconds. */
  when: number;
}

/** Jobs of an endpoint that had not ended. */
interface OpenJobs {
  endpointId: string;
  /** Name of the endpoint. Empty: it was being deleted. */
  name: string;
  queued: number;
  running: number;
}

/** Facts about a database at one moment. */
export interface DatabaseFacts {
  /** The moment, by the database's clock: ISO 8601. */
  takenAt: string;
  migrations: AppliedMigration[];
  /** Fingerprints in hex of the secret keys that its values are sealed with. Empty: no core has started on it. */
  secretKeys: string[];
  /** Endpoints with jobs that had not ended. */
  openJobs: OpenJobs[];
  /** Webhook calls that had not been delivered. */
  webhooks: number;
}

/** The contents of a database at one moment. */
export interface DatabaseContents {
  facts: DatabaseFacts;
  tables: TableShape[];
  sequences: SequencePosition[];
  /** Returns the rows of a table in PostgreSQL's text format. */
  rows({ name, columns }: TableShape): AsyncIterable<Buffer>;
}

/** The database has no tables of Slipway. */
export class NothingToBackUpError extends Error {
  constructor() {
    super('The database has no tables of Slipway: there is nothing to back up. Is it the right one?');
    this.name = 'NothingToBackUpError';
  }
}

/**
 * Calls `read` with the contents of a database. Everything that it reads is of one snapshot, which ends with it. Takes
 * no locks that core waits for; only a migration waits for the end of the table that is being read.
 */
export async function readContents(
  url: string,
  logger: Logger,
  read: (contents: DatabaseContents) => Promise<void>,
): Promise<void> {
  const sql = connect(url, 'slipway-backup', 1, logger, {
    statement_timeout: '0',
    idle_in_transaction_session_timeout: '0',
  });
  let failure: unknown;
  try {
    await sql.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', async (tx) => {
      try {
        await read(await contentsOf(tx as unknown as Sql, () => resumeAll(sql)));
      } catch (error) {
        failure = error;
        // A rollback would wait for the rest of the table, which is not read any more.
        cutAll(sql);
        throw error;
      }
    });
  } catch (error) {
    throw failure ?? error;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function contentsOf(tx: Sql, onRowsRead: () => void): Promise<DatabaseContents> {
  const [found] = await tx<{ ours: boolean }[]>`
    SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AND to_regclass('public.job') IS NOT NULL AS ours`;
  if (!found!.ours) throw new NothingToBackUpError();
  return {
    facts: await readFacts(tx),
    tables: await listTables(tx),
    sequences: await listSequences(tx),
    rows: (table) => copyOut(tx, table, onRowsRead),
  };
}

async function readFacts(tx: Sql): Promise<DatabaseFacts> {
  const [now] = await tx<{ at: string }[]>`
    SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at`;
  const migrations = await tx<AppliedMigration[]>`
    SELECT hash, created_at AS "when" FROM drizzle.__drizzle_migrations ORDER BY created_at`;
  // The previous key by JSON: a database of an earlier release has no such column.
  const keys = await tx<{ key: string }[]>`
    SELECT encode(secret_key_fingerprint, 'hex') AS key FROM installation UNION ALL
    SELECT encode(previous::bytea, 'hex') FROM (
      SELECT to_jsonb(i) ->> 'previous_secret_key_fingerprint' AS previous FROM installation i) p
    WHERE previous IS NOT NULL`;
  const openJobs = await tx<OpenJobs[]>`
    SELECT j.endpoint_id AS "endpointId", coalesce(max(e.name), '') AS name,
      count(*) FILTER (WHERE j.state = 'IN_QUEUE')::integer AS queued,
      count(*) FILTER (WHERE j.state = 'IN_PROGRESS')::integer AS running
    FROM job j LEFT JOIN endpoint e ON e.id = j.endpoint_id
    WHERE j.state IN ('IN_QUEUE', 'IN_PROGRESS') AND j.expires_at > now()
    GROUP BY j.endpoint_id ORDER BY count(*) DESC, j.endpoint_id`;
  const [webhooks] = await tx<{ count: number }[]>`SELECT count(*)::integer AS count FROM webhook_delivery`;
  return {
    takenAt: now!.at,
    migrations: migrations.map(({ hash, when }) => ({ hash, when })),
    secretKeys: keys.map(({ key }) => key),
    openJobs: openJobs.map((each) => ({ ...each })),
    webhooks: webhooks!.count,
  };
}

async function* copyOut(tx: Sql, { name, columns }: TableShape, onRowsRead: () => void): AsyncGenerator<Buffer> {
  const list = columns.map((column) => `"${column}"`).join(', ');
  yield* await tx.unsafe(`COPY public."${name}" (${list}) TO STDOUT`).readable();
  onRowsRead();
}
