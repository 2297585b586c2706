/** A Redis of a run's own: in a temporary folder, reached by a socket there, with the durability that is wanted. */
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { waitFor } from '@slipway/test/helpers/time/wait-for';
import { startGuarded } from './guarded.ts';

/**
 * always: each write is on disk before its answer, as a commit is. everysec: what the last second wrote may be lost.
 */
export type Fsync = 'always' | 'everysec';

/** Its program; undefined: it is not installed. */
export function findRedis(): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file));
}

/** Starts one. */
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
