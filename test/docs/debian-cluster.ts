/** A cluster of the distribution's PostgreSQL, as an operator makes it, for one test alone. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { quietPort } from '../helpers/net/ports.ts';

/** Returns false for tap's `skip` option if such a cluster can be made here. */
export function skipWithoutDebian(): false | string {
  if (process.getuid!() !== 0) return 'needs root: it makes a database server and runs workers as other users';
  if (!existsSync('/usr/bin/pg_createcluster') || !existsSync('/usr/bin/curl'))
    return 'needs Debian with its PostgreSQL: apt-get install postgresql curl';
  return false;
}

/**
 * Makes and starts the cluster in a folder. `inside`: the command that starts it there, of another host for instance.
 */
export async function createCluster(
  t: Test,
  folder: string,
  inside: readonly string[] = [],
): Promise<{ port: string; cluster: string }> {
  const version = readdirSync('/usr/lib/postgresql')
    .map(Number)
    .filter((number) => number >= 15)
    .sort((a, b) => a - b)
    .at(-1)!;
  const name = `slipway${process.pid}`;
  const port = String(await quietPort());
  const run = (...words: string[]): void => {
    const [program, ...args] = [...inside, ...words];
    execFileSync(program!, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/' });
  };
  t.teardown(() => run('pg_dropcluster', '--stop', String(version), name));
  const dataDir = join(folder, 'postgresql');
  run('pg_createcluster', String(version), name, '--port', port, '--datadir', dataDir, '--', '--no-sync');
  run('pg_ctlcluster', String(version), name, 'start');
  return { port, cluster: `${version}/${name}` };
}
