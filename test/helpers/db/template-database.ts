/**
 * Makes the migrated database that databases of tests are copied from. Must not import tap: its time limit would end
 * the server of a whole run.
 */

import { migrate } from '@slipway/core/store/sql/migrate';
import { createLogger } from '@slipway/kit/log/logger';
import postgres from 'postgres';

/**
 * Server for the databases of tests. If a run has one for all files, `SLIPWAY_TEST_POSTGRES` holds this value as JSON.
 */
export interface SharedPostgres {
  /** Address of the database that is there from the start. */
  url: string;
  /** A migrated database without rows, which others are copied from. */
  template: string;
}

/** Makes the template on a new server. */
export async function makeTemplate(url: string): Promise<SharedPostgres> {
  const template = 'slipway_template';
  await administer(url, `CREATE DATABASE ${template}`);
  await migrate({ url: urlOf(url, template) }, createLogger('test', 'silent'));
  return { url, template };
}

/**
 * Returns the statement that copies the template. FILE_COPY takes half the processor time of a copy through the WAL. It
 * also copies PostgreSQL's catalogue cache, which the first connection would otherwise build.
 */
export function copyOf(template: string, name: string): string {
  return `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`;
}

/** Runs one statement on a separate connection, without the query for type names that a pool sends first. */
export async function administer(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Address of another database of the same server. */
export function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}
