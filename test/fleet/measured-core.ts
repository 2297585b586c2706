/** A core in a process of its own, on a new database of a server that is measured too. */
import { randomBytes } from 'node:crypto';
import { NODE_FLAGS } from '@slipway/kit/host/node-settings';
import { Child } from '@slipway/tools/bench/child';
import type { Database } from '@slipway/tools/bench/database';
import postgres from 'postgres';
import type { GrpcClients } from '../helpers/grpc/grpc-clients.ts';
import { grpcClients } from '../helpers/grpc/grpc-clients.ts';

export type MeasuredCore = Awaited<ReturnType<typeof startMeasured>>;

/** One of several replicas at one database. */
export interface MeasuredReplica {
  core: Child;
  clients: GrpcClients;
}

/**
 * Starts core with this many replicas. `profile`: folder for CPU profiles. `restart` kills the first replica, or stops
 * it in order if it must write its profile, and starts another at the same address. `core` is the running one;
 * `replicas` are all, with clients of their own.
 */
export async function startMeasured(database: Database, profile?: string, cores = 1) {
  const nodeOptions = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  const name = `fleet_${randomBytes(4).toString('hex')}`;
  const admin = postgres(database.url, { max: 1, onnotice: () => undefined });
  await admin`CREATE DATABASE ${admin(name)}`;
  const url = database.url.replace(/\/[^/]*$/, `/${name}`);
  const rootKey = randomBytes(24).toString('hex');
  const secretKey = randomBytes(32).toString('hex');
  const start = (listen = '127.0.0.1:0'): Promise<Child> =>
    Child.start(
      'core/main.ts',
      {
        SLIPWAY_DATABASE_URL: url,
        SLIPWAY_CORE_LISTEN: listen,
        SLIPWAY_ROOT_KEY: rootKey,
        SLIPWAY_SECRET_KEY: secretKey,
        SLIPWAY_LOG_LEVEL: 'error',
      },
      [...NODE_FLAGS, ...nodeOptions],
    );
  let core = await start();
  const sql = postgres(url, { max: 2, onnotice: () => undefined });
  const clients = grpcClients(core.ready.address!);
  const others: MeasuredReplica[] = [];
  while (others.length < cores - 1) {
    const other = await start();
    others.push({ core: other, clients: grpcClients(other.ready.address!) });
  }
  return {
    core: () => core,
    sql,
    clients,
    rootKey,
    replicas: (): MeasuredReplica[] => [{ core, clients }, ...others],
    restart: async (): Promise<void> => {
      await (profile === undefined ? core.kill() : core.stop());
      core = await start(core.ready.address);
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
