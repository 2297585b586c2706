/** Opens connections to workers and pods. */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionPool } from './connection-pool.ts';
import { hostPortOf } from './connection-pool.ts';

/** Longest time to open a connection to a worker, in milliseconds. */
const CONNECT_MS = 3_000;

/** A connection for this request only, a new one that is pooled afterwards, or a pooled one (ConnectionPool.has). */
export type WorkerConnection =
  | { socket: Duplex; pool?: undefined }
  | { socket?: Duplex | undefined; pool: ConnectionPool; address: string };

/** Opens a connection to a worker. Resolves to `undefined` if nothing listens there. */
export function dial(address: string, gone: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...hostPortOf(address), noDelay: true });
    const giveUp = (): void => {
      socket.destroy();
    };
    const done = (result: Socket | undefined): void => {
      gone.removeEventListener('abort', giveUp);
      socket.setTimeout(0);
      resolve(result);
    };
    gone.addEventListener('abort', giveUp, { once: true });
    socket.setTimeout(CONNECT_MS, giveUp);
    socket.once('connect', () => done(socket));
    socket.on('error', () => done(undefined));
    socket.once('close', () => done(undefined));
  });
}
