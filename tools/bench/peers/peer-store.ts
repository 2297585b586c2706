/** Stores of the peers. Each is made for one contestant and removed with it. */
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { findRedis } from '../find-redis.ts';
import type { Bench } from '../stack/bench.ts';
import { programOf } from './install.ts';
import type { Fsync } from './redis.ts';
import { startRedis } from './redis.ts';
import { startRestate } from './restate-server.ts';

/** A database, a Redis or a Restate. */
interface PeerStore {
  /**
   * Address of the store: the URL of a database, the socket of a Redis, or the folder with the sockets of a Restate.
   */
  address: string;
  stop(): Promise<void>;
}

/** Makes a store. */
export type MakeStore = () => Promise<PeerStore>;

/** Makes a database on the server that Slipway's databases are on. */
export function inPostgres(bench: Bench): MakeStore {
  return async () => {
    const name = `peer_${randomBytes(4).toString('hex')}`;
    const admin = postgres(bench.database.url, { max: 1 });
    await admin`CREATE DATABASE ${admin(name)}`;
    return {
      address: bench.database.url.replace(/\/[^/]*$/, `/${name}`),
      stop: async () => {
        await admin`DROP DATABASE ${admin(name)} WITH (FORCE)`;
        await admin.end();
      },
    };
  };
}

/** Makes a Redis; `undefined` if none is installed. */
export function inRedis(fsync: Fsync): MakeStore | undefined {
  const program = findRedis();
  return program === undefined
    ? undefined
    : async () => {
        const { socket, stop } = await startRedis(program, fsync);
        return { address: socket, stop };
      };
}

/** Makes a Restate; `undefined` if its package has no program for this machine. */
export function inRestate(): MakeStore | undefined {
  const program = programOf('@restatedev/restate-server', 'restate-server');
  return program === undefined
    ? undefined
    : async () => {
        const { sockets, stop } = await startRestate(program);
        return { address: sockets, stop };
      };
}
