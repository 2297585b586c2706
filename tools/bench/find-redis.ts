/** Looks for Redis on this machine. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Returns the path of its program; `undefined` if it is not installed. */
export function findRedis(): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file));
}
