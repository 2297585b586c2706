/** The data folder: where each thing in it is. */
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
  /** What single processes are handed of it, one file each. */
  secretsDir: string;
  /** Facts for scripts; exists only while everything is ready. */
  localEnvFile: string;
  /** Who uses the folder, see folder-claim.ts. */
  pidFile: string;
  /** gRPC port of core, so that it stays the same. */
  corePortFile: string;
  /** Output of every process, one file each. */
  logDir: string;
  /** The embedded PostgreSQL's data, or a link to it. */
  postgresDir: string;
  /** What the agent keeps on disk. */
  agentDir: string;
  /** Compiled code of our own processes, which makes every start but the first faster. */
  cacheDir: string;
  /** Python environments of handlers. */
  venvDir: string;
}

/** Makes the data folder when it is missing. Throws UsageError when it cannot be made or written. */
export function openDataDir(dir: string): DataDir {
  const asRoot = process.getuid?.() === 0;
  try {
    // PostgreSQL refuses to run as root; its own user must be able to pass through to its data, whatever the umask.
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
 * What to tell the user about a failed start: a file of the data folder that cannot be read or written is theirs to
 * mend.
 */
export function explainFailure(dir: string, error: unknown): unknown {
  const { code, path } = error as NodeJS.ErrnoException;
  return code !== undefined && path?.startsWith(dir + sep) ? unusable(dir, error as Error) : error;
}

/** Command line of a running process; undefined when there is none with this id. */
export function commandOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || undefined;
    return execFileSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
