/** Real PostgreSQL for tests: one server per test process, a fresh database per call. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import type { Test } from 'tap';
import { QUICK, startPostgres } from './throwaway-postgres.ts';

/** A database of its own for one test. */
export interface TestDatabase {
  url: string;
}

interface Server {
  create(name: string): Promise<string>;
  drop(name: string): Promise<void>;
  stop(): Promise<void>;
}

let running: Promise<Server> | undefined;
let users = 0;
let dropping: Promise<void> = Promise.resolve();

/** Makes an empty database; it goes when the test ends, and the server with the last of them. */
export async function createDatabase(t: Test): Promise<TestDatabase> {
  running ??= startServer();
  users += 1;
  const server = await running;
  const name = `test_${randomBytes(6).toString('hex')}`;
  t.teardown(async () => {
    users -= 1;
    // Tests that run side by side end side by side: the server must not stop while another's database is being dropped.
    const dropped = dropping.then(() => server.drop(name));
    dropping = dropped.catch(() => undefined);
    if (users === 0) {
      running = undefined;
      await dropped;
      return server.stop();
    }
    return dropped;
  });
  return { url: await server.create(name) };
}

async function startServer(): Promise<Server> {
  const server = await startPostgres(QUICK);
  const administer = async (statement: string): Promise<void> => {
    const sql = postgres(server.url(), { max: 1, onnotice: () => undefined });
    try {
      await sql.unsafe(statement);
    } finally {
      await sql.end({ timeout: 1 });
    }
  };
  return {
    create: async (name) => {
      await administer(`CREATE DATABASE ${name}`);
      return server.url(name);
    },
    drop: (name) => administer(`DROP DATABASE ${name}`),
    stop: () => server.remove(),
  };
}
