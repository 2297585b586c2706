/**
 * A Redis for one run, in a temporary folder. It is reached by a socket in that folder and has the wanted durability.
 */
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { startGuarded } from './guarded.ts';

/**
 * Durability. always: each write is on disk before its answer, like a commit. everysec: the writes of the last second
 * may be lost.
 */
export type Fsync = 'always' | 'everysec';

/** Starts a Redis. */
export async function startRedis(program: string, fsync: Fsync): Promise<{ socket: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-redis-'));
  const socket = join(folder, 'redis.sock');
  const options = [
    '--port',
    '0',
    '--unixsocket',
    socket,
    '--dir',
    folder,
    '--appendonly',
    'yes',
    '--appendfsync',
    fsync,
    '--save',
    '',
  ];
  const server = startGuarded(folder, [program, ...options]);
  await waitFor('Redis', () => existsSync(socket));
  return { socket, stop: server.stop };
}
