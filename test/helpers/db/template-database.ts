/**
 * A migrated database that those of tests are copied from. Must not load tap, whose limit would end the process of a
 * whole run's server.
 */

import { migrate } from '@slipway/core/store/sql/migrate';
import { createLogger } from '@slipway/kit/log/logger';
import postgres from 'postgres';

/**
 * Where databases are made; `SLIPWAY_TEST_POSTGRES` holds it as JSON when the run has a server for all of its files.
 */
export interface SharedPostgres {
  /** Address of the database that is there from the start. */
  url: string;
  /** A migrated database without rows, which others are copied from. */
  template: string;
}

/** Makes it on a new server. */
export async function makeTemplate(url: string): Promise<SharedPostgres> {
  const template = 'slipway_template';
  await administer(url, `CREATE DATABASE ${template}`);
  await migrate({ url: urlOf(url, template) }, createLogger('test', 'silent'));
  return { url, template };
}

/**
 * The statement that makes a database as the template is. File by file: block by block through the WAL takes twice the
 * processor time, and leaves out what PostgreSQL keeps of its catalogue, which the first connection would make anew.
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
