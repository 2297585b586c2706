/** A PostgreSQL of its own for tests, started as `npm start` starts one, that never outlives the process of its test. */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../core/runtime/clock.ts';
import { findPostgres } from '../../deploy/local/postgres-program.ts';
import { freePort } from '../../deploy/local/ports.ts';
import { createCluster, postgresProcess, postgresUrl } from '../../deploy/local/postgres.ts';
import { ProcessLog } from '../../deploy/local/process-log.ts';
import { Child } from './child.ts';
import { reapPostgresWithProcess } from './postgres-reaper.ts';

/**
 * Tests kill processes, never the machine: what the kernel holds survives, so waiting for the disk would prove nothing. A password that is
 * cheap to check makes each of the many connections a little cheaper.
 */
export const QUICK: readonly string[] = ['--no-sync', '-c', 'fsync=off', '-c', 'scram_iterations=1'];

/** Starts one in a new folder, with further options of initdb and settings of the server if wanted. Whoever starts it must `remove` it. */
export async function startPostgres(initdbOptions: readonly string[] = [], settings: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'slipway-test-'));
  // As root the server runs as another user, who must be able to reach its data.
  await chmod(folder, 0o711);
  const password = randomBytes(12).toString('hex');
  const place = await findPostgres(join(folder, 'postgres'));
  const stopReaper = reapPostgresWithProcess(place.dataDir, folder);
  const log = new ProcessLog(join(folder, 'postgres.log'));
  await createCluster(place, password, log, initdbOptions);
  const child = new Child(postgresProcess(place, log, systemClock, freePort, settings));
  const port = await child.start();
  return {
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
