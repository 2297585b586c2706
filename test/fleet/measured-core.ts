/** A core in a process of its own, on a new database of a server that is measured too. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { NODE_FLAGS } from '../../core/runtime/node-settings.ts';
import { Child } from '../bench/child.ts';
import type { Database } from '../bench/database.ts';
import { grpcClients } from '../helpers/grpc-clients.ts';

export type MeasuredCore = Awaited<ReturnType<typeof startMeasured>>;

/** Starts it, with further options of Node. `restart` ends it and starts another at another address; `core` is the one that runs. */
export async function startMeasured(database: Database, nodeOptions: readonly string[] = []) {
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
  return {
    core: () => core, sql, clients, rootKey,
    restart: async (): Promise<void> => {
      await core.stop();
      core = await start();
    },
    stop: async (): Promise<void> => {
      clients.close();
      await core.stop();
      await sql.end();
      await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
      await admin.end();
    },
  };
}
