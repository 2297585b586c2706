/** Real PostgreSQL for tests: one server for the whole run, or for the process of a file that runs alone, and a fresh database per call. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import root from 'tap';
import type { Test } from 'tap';
import { createLogger } from '../../core/runtime/logger.ts';
import { migrate } from '../../core/store/migrate.ts';
import { QUICK, startPostgres } from './throwaway-postgres.ts';

/** A database of its own for one test. */
export interface TestDatabase {
  url: string;
}

/** Where databases are made; `SLIPWAY_TEST_POSTGRES` holds it as JSON when the run has a server for all of its files. */
export interface SharedPostgres {
  /** Address of the database that is there from the start. */
  url: string;
  /** A migrated database without rows, which others are copied from. */
  template: string;
}

let server: Promise<SharedPostgres> | undefined;

/** Makes a database with the schema of this build, or an empty one; it goes when the test ends. A connection that was left open fails the test. */
export async function createDatabase(t: Test, { empty = false } = {}): Promise<TestDatabase> {
  const { SLIPWAY_TEST_POSTGRES: shared } = process.env;
  server ??= shared ? Promise.resolve(JSON.parse(shared) as SharedPostgres) : startServer();
  const { url, template } = await server;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(url, empty ? `CREATE DATABASE ${name}` : `CREATE DATABASE ${name} TEMPLATE ${template}`);
  t.teardown(() => administer(url, `DROP DATABASE ${name}`));
  return { url: urlOf(url, name) };
}

/** Makes the database that others are copied from. */
export async function makeTemplate(url: string): Promise<SharedPostgres> {
  const template = 'slipway_template';
  await administer(url, `CREATE DATABASE ${template}`);
  await migrate({ url: urlOf(url, template) }, createLogger('test', 'silent'));
  return { url, template };
}

async function startServer(): Promise<SharedPostgres> {
  const { url, remove } = await startPostgres(QUICK);
  root.teardown(remove);
  return makeTemplate(url());
}

async function administer(url: string, statement: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

function urlOf(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}
