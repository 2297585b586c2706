/**
 * A PostgreSQL of its own for tests, started as `npm start` starts one, that never outlives the process of its test.
 */
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
import { Child } from '../system/child.ts';
import { reapPostgresWithProcess } from './postgres-reaper.ts';

const run = promisify(execFile);

/**
 * Tests kill processes, never the machine: what the kernel holds survives, so waiting for the disk would prove nothing.
 * A password that is cheap to check makes each of the many connections a little cheaper.
 */
export const QUICK: readonly string[] = ['--no-sync', '-c', 'fsync=off', '-c', 'scram_iterations=1'];

/** Such a server's log may lie in memory: what it no longer needs goes, as far as PostgreSQL's own setting says. */
const LITTLE_WAL = { min_wal_size: '80MB' };

/**
 * Files in memory, where there are any: to make and drop a database is hundreds of small files, which cost less system
 * time there than on a disk.
 */
const MEMORY = '/dev/shm';
/** What statfs calls such files. */
const TMPFS = 0x01021994;
/**
 * Free space that is plenty for a WAL of 1 GB and what tests fill their databases with; containers often have 64 MB in
 * all. In bytes.
 */
const MEMORY_MIN = 6 * 2 ** 30;

/**
 * Where a server's data goes. Only one that never waits for a disk may do without one: others are there to be measured,
 * or killed and started again.
 */
async function placeOf(initdbOptions: readonly string[]): Promise<string> {
  if (!initdbOptions.includes('fsync=off')) return tmpdir();
  const { type, bavail, bsize } = await statfs(MEMORY).catch(() => ({ type: 0, bavail: 0, bsize: 0 }));
  return type === TMPFS && bavail * bsize >= MEMORY_MIN ? MEMORY : tmpdir();
}

/**
 * A cluster without a server, which others are copied from: to make one takes half a second of processor time, and a
 * copy a fifth of that.
 */
export interface Cluster {
  dataDir: string;
  password: string;
}

/** Makes it in a folder that the server's user can reach. */
export async function makeCluster(folder: string): Promise<Cluster> {
  const password = randomBytes(12).toString('hex');
  const place = await findPostgres(join(folder, 'cluster'));
  await createCluster(place, password, new ProcessLog(join(folder, 'cluster.log')), ['--no-sync']);
  return { dataDir: place.dataDir, password };
}

/** That of the run, if it has one. */
function clusterOfRun(): Cluster | undefined {
  const { SLIPWAY_TEST_POSTGRES: shared = '' } = process.env;
  return shared === '' ? undefined : (JSON.parse(shared) as { cluster: Cluster }).cluster;
}

/**
 * Starts one in a new folder, with further options of initdb and settings of the server if wanted. Without such options
 * it is a copy of the run's cluster. Whoever starts it must `remove` it.
 */
export async function startPostgres(initdbOptions: readonly string[] = [], settings: Record<string, string> = {}) {
  const folder = await mkdtemp(join(await placeOf(initdbOptions), 'slipway-test-'));
  // As root the server runs as another user, who must be able to reach its data.
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
    /** Goes with it, however its process ends. */
    folder,
    /** The server; it keeps its port and its data when it is started again. */
    child,
    /** Address of a database; without a name the one that is there from the start. */
    url: (name = 'postgres'): string => {
      const url = new URL(postgresUrl(port, password));
      url.pathname = name;
      return url.href;
    },
    /** Ends it and removes all of it. */
    remove: async (): Promise<void> => {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
      stopReaper();
    },
  };
}
