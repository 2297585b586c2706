/** Starts a PostgreSQL for a test in the way of `npm start`. It never outlives the process of its test. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '@slipway/dev/ports';
import { createCluster, postgresProcess, postgresUrl } from '@slipway/dev/postgres/postgres';
import { findPostgres } from '@slipway/dev/postgres/postgres-program';
import { ProcessLog } from '@slipway/dev/processes/process-log';
import { systemClock } from '@slipway/kit/time/clock';
import { Child } from '../child.ts';
import { reapPostgresWithProcess } from './postgres-reaper.ts';

const run = promisify(execFile);

/**
 * Options that make the server fast. Without fsync the kernel still keeps the data when a test kills processes. Few
 * rounds of SCRAM make each connection cheaper.
 */
export const QUICK: readonly string[] = ['--no-sync', '-c', 'fsync=off', '-c', 'scram_iterations=1'];

/** Keeps the WAL small, because it may lie in memory. */
const LITTLE_WAL = { min_wal_size: '80MB' };

/**
 * Folder in memory, if the host has it. Creating and dropping a database touches hundreds of small files, which costs
 * less system time in memory than on a disk.
 */
const MEMORY = '/dev/shm';
/** File system type that statfs returns for tmpfs. */
const TMPFS = 0x01021994;
/**
 * Least free space in memory, in bytes. It holds a WAL of 1 GB and the data of tests. Containers often have only 64 MB.
 */
const MEMORY_MIN = 6 * 2 ** 30;

/**
 * Returns the folder for a server's data. Data of a server without fsync may lie in memory. Tests measure other servers
 * or restart them, so these need a disk.
 */
export async function placeOf(initdbOptions: readonly string[]): Promise<string> {
  if (!initdbOptions.includes('fsync=off')) return tmpdir();
  const { type, bavail, bsize } = await statfs(MEMORY).catch(() => ({ type: 0, bavail: 0, bsize: 0 }));
  return type === TMPFS && bavail * bsize >= MEMORY_MIN ? MEMORY : tmpdir();
}

/**
 * A cluster without a server, from which others are copied. Making one takes half a second of processor time; a copy
 * takes a fifth of that.
 */
export interface Cluster {
  dataDir: string;
  password: string;
}

/** Makes the cluster in a folder that the server's user can reach. */
export async function makeCluster(folder: string): Promise<Cluster> {
  const password = randomBytes(12).toString('hex');
  const place = await findPostgres(join(folder, 'cluster'));
  await createCluster(place, password, new ProcessLog(join(folder, 'cluster.log')), ['--no-sync']);
  return { dataDir: place.dataDir, password };
}

/** Returns the cluster of the test run. `undefined` if the run has none. */
function clusterOfRun(): Cluster | undefined {
  const { SLIPWAY_TEST_POSTGRES: shared = '' } = process.env;
  return shared === '' ? undefined : (JSON.parse(shared) as { cluster: Cluster }).cluster;
}

/**
 * Starts a PostgreSQL in a new folder, optionally with further options of initdb and settings of the server. Without
 * options of initdb its data is a copy of the run's cluster. The caller must call `remove`.
 */
export async function startPostgres(initdbOptions: readonly string[] = [], settings: Record<string, string> = {}) {
  const folder = await mkdtemp(join(await placeOf(initdbOptions), 'slipway-test-'));
  // When the test runs as root, the server runs as another user, who must be able to reach its data.
  await chmod(folder, 0o711);
  const cluster = initdbOptions.length === 0 ? clusterOfRun() : undefined;
  const password = cluster?.password ?? randomBytes(12).toString('hex');
  const place = await findPostgres(join(folder, 'postgres'));
  const stopReaper = reapPostgresWithProcess(place.dataDir, folder);
  const log = new ProcessLog(join(folder, 'postgres.log'));
  if (cluster) await run('cp', ['-a', cluster.dataDir, place.dataDir]);
  else await createCluster(place, password, log, initdbOptions);
  const kept: Record<string, string> = initdbOptions.includes('fsync=off') ? LITTLE_WAL : {};
  const child = new Child(postgresProcess(place, log, systemClock, freePort, { ...kept, ...settings }));
  const port = await child.start();
  return {
    /** The folder, removed with the server, however the server's process ends. */
    folder,
    /** The server. It keeps its port and its data across restarts. */
    child,
    /** Returns the address of a database. Default: the database that exists from the start. */
    url: (name = 'postgres'): string => {
      const url = new URL(postgresUrl(port, password));
      url.pathname = name;
      return url.href;
    },
    /** Ends the server and removes its folder. */
    remove: async (): Promise<void> => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
      stopReaper();
    },
  };
}
