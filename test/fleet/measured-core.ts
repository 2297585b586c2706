/** A core in a process of its own, on a new database of a server that is measured too. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { NODE_FLAGS } from '../../core/runtime/node-settings.ts';
import { Child } from '../bench/child.ts';
import type { Database } from '../bench/database.ts';
import { grpcClients } from '../helpers/grpc-clients.ts';
import type { GrpcClients } from '../helpers/grpc-clients.ts';

export type MeasuredCore = Awaited<ReturnType<typeof startMeasured>>;

/** One of several at one database. */
export interface MeasuredReplica {
  core: Child;
  clients: GrpcClients;
}

/**
 * Starts it, with further options of Node, and with so many replicas in all. `restart` ends the first and starts another at another address; `core` is the one
 * that runs, `replicas` are all with clients of their own.
 */
export async function startMeasured(database: Database, nodeOptions: readonly string[] = [], cores = 1) {
  const name = `fleet_${randomBytes(4).toString('hex')}`;
  const admin = postgres(database.url, { max: 1, onnotice: () => undefined });
  await admin`CREATE DATABASE ${admin(name)}`;
  const url = database.url.replace(/\/[^/]*$/, `/${name}`);
  const rootKey = randomBytes(24).toString('hex');
  const secretKey = randomBytes(32).toString('hex');
  const start = (): Promise<Child> => Child.start('core/main.ts', {
    SLIPWAY_DATABASE_URL: url, SLIPWAY_CORE_LISTEN: '127.0.0.1:0', SLIPWAY_ROOT_KEY: rootKey, SLIPWAY_SECRET_KEY: secretKey, SLIPWAY_LOG_LEVEL: 'error',
  }, [...NODE_FLAGS, ...nodeOptions]);
  let core = await start();
  const sql = postgres(url, { max: 2, onnotice: () => undefined });
  const clients = grpcClients(core.ready.address!);
  const others: MeasuredReplica[] = [];
  while (others.length < cores - 1) {
    const other = await start();
    others.push({ core: other, clients: grpcClients(other.ready.address!) });
  }
  return {
    core: () => core, sql, clients, rootKey, replicas: (): MeasuredReplica[] => [{ core, clients }, ...others],
    restart: async (): Promise<void> => {
      await core.stop();
      core = await start();
    },
    stop: async (): Promise<void> => {
      for (const { core: each, clients: own } of [{ core, clients }, ...others]) {
        own.close();
        await each.stop();
      }
      await sql.end();
      await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
      await admin.end();
    },
  };
}
