/** The data folder and the paths in it. */
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { makeFolder } from '@slipway/kit/host/make-folder';
import { UsageError } from '../options.ts';

/** Paths inside the data folder. */
export interface DataDir {
  dir: string;
  /** Keys and passwords, mode 0600. */
  secretsFile: string;
  /** Secrets that are passed to single processes, one file each. */
  secretsDir: string;
  /** Facts for scripts. Exists only while everything is ready. */
  localEnvFile: string;
  /** Records which launcher uses the folder, see folder-claim.ts. */
  pidFile: string;
  /** gRPC port of core, kept so that it stays the same. */
  corePortFile: string;
  /** Log files, one for each process. */
  logDir: string;
  /** Data of the embedded PostgreSQL, or a link to it. */
  postgresDir: string;
  /** Files of the agent. */
  agentDir: string;
  /** Compiled code of our own processes. It makes every start but the first faster. */
  cacheDir: string;
  /** Python environments of handlers. */
  venvDir: string;
}

/** Makes the data folder if it is missing. Throws UsageError if it cannot be made or written. */
export function openDataDir(dir: string): DataDir {
  const asRoot = process.getuid?.() === 0;
  try {
    // PostgreSQL does not run as root. Its own user must be able to traverse these folders, whatever the umask.
    for (const made of makeFolder(dir, 0o700)) if (asRoot) chmodSync(made, 0o711);
    makeFolder(join(dir, 'logs'), 0o700);
  } catch (error) {
    throw unusable(dir, error as Error);
  }
  return {
    dir,
    secretsFile: join(dir, 'secrets.json'),
    secretsDir: join(dir, 'handed-over'),
    localEnvFile: join(dir, 'local.env'),
    pidFile: join(dir, 'launcher.pid'),
    corePortFile: join(dir, 'core.port'),
    logDir: join(dir, 'logs'),
    postgresDir: join(dir, 'postgres'),
    agentDir: join(dir, 'agent'),
    cacheDir: join(dir, 'cache'),
    venvDir: join(dir, 'venvs'),
  };
}

function unusable(dir: string, { message }: Error): UsageError {
  return new UsageError(
    `The data folder ${dir} cannot be used (${message}). Choose another one: npm start -- --data-dir DIR`,
  );
}

/**
 * Returns the error to show for a failed start. A file of the data folder that cannot be read or written becomes a
 * UsageError, because the user can fix it.
 */
export function explainFailure(dir: string, error: unknown): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  return code !== undefined && path?.startsWith(dir + sep) ? unusable(dir, error as Error) : error;
}

/** Returns the command line of a running process; `undefined` if no process has this id. */
export function commandOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
