/**
 * Real PostgreSQL for tests: one server for the whole run, or for the process of a file that runs alone, and a fresh
 * database per call.
 */
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import root from 'tap';
import { requireDeclared } from '../declared.ts';
import type { SharedPostgres } from './template-database.ts';
import { administer, copyOf, makeTemplate, urlOf } from './template-database.ts';
import { QUICK, startPostgres } from './throwaway-postgres.ts';

/** A database of its own for one test. */
export interface TestDatabase {
  url: string;
}

let server: Promise<SharedPostgres> | undefined;
let alone = false;

/**
 * Gives the file a server of its own. Must be called first by a file whose transactions would disturb other files, or
 * be disturbed by theirs.
 */
export function useOwnServer(): void {
  requireDeclared('alone');
  alone = true;
}

/**
 * Makes a database with the schema of this build, or an empty one. It is dropped when the test ends. A connection that
 * was left open fails the test.
 */
export async function createDatabase(t: Test, { empty = false } = {}): Promise<TestDatabase> {
  requireDeclared('postgres');
  const { SLIPWAY_TEST_POSTGRES: shared } = process.env;
  server ??= shared && !alone ? Promise.resolve(JSON.parse(shared) as SharedPostgres) : startServer();
  const { url, template } = await server;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await administer(url, empty ? `CREATE DATABASE ${name}` : copyOf(template, name));
  t.teardown(() => administer(url, `DROP DATABASE ${name}`));
  return { url: urlOf(url, name) };
}

async function startServer(): Promise<SharedPostgres> {
  const { url, remove } = await startPostgres(QUICK);
  root.teardown(remove);
  return makeTemplate(url());
}
