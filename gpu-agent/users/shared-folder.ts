/**
 * Folders that several users of one account share. Their parent folder is closed to all other users. Each image runs
 * as its own user, which may change with every release; commands run as the account's user. Each of these users gets
 * the permissions that the owner of an entry has. A program sets the modes of the entries that it creates, so entries
 * are opened when another user comes. A folder with one user only keeps its modes.
 */
import { execFile } from 'node:child_process';
import { chmod, lchown, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { Logger } from '@slipway/kit/log/logger';

const run = promisify(execFile);

const OPEN = 0o777;
const CLOSED = 0o700;
const PERMISSIONS = 0o7777;
/** Name for root, to which no folder is closed. */
export const ROOT = 'root';
/** Fixed, because no variable of the agent's environment is inherited. */
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** Longest time for opening the content of a folder, in milliseconds. The rest is opened when the next user comes. */
const OPEN_MS_MAX = 60_000;

/**
 * Gives group and others the permissions of the owner. Runs on a mount that follows no symbolic links, in a mount
 * namespace that ends with the shell, so a directory that is replaced by a link cannot redirect root. The last
 * line of mountinfo is the latest mount.
 */
const OPEN_ALL = `
mount --bind "$1" "$1" && mount -o remount,bind,nosuid,nodev,nosymfollow "$1" || exit 3
tail -n 1 /proc/self/mountinfo | grep -q nosymfollow || exit 3
cd "$1" && exec find . -xdev '(' -type d -o -type f ')' \\
  '(' -perm -u=r ! -perm -go=r -o -perm -u=w ! -perm -go=w -o -perm -u=x ! -perm -go=x ')' -exec chmod go=u -- {} +
`;

/**
 * Creates the folder if it does not exist, with `owner` if one is given, and opens it, but not its content. Returns
 * true if it was created. The parent folder must be closed.
 */
export async function openShared(path: string, owner?: HostUser): Promise<boolean> {
  const made = await mkdir(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder`);
  if (made && owner && runsAsRoot()) await lchown(path, owner.uid, owner.gid);
  const isOwn = runsAsRoot() || found.uid === process.getuid?.();
  if (isOwn && (found.mode & OPEN) !== OPEN) await chmod(path, OPEN);
  return made;
}

/** Closes a folder to all but the agent. Returns false if it is not the agent's own. */
export async function closeToOthers(path: string): Promise<boolean> {
  const found = await lstat(path);
  if (found.uid !== process.getuid?.()) return false;
  if ((found.mode & PERMISSIONS & ~CLOSED) !== 0) await chmod(path, CLOSED);
  return true;
}

/** Opens entries of shared folders to the next users. */
export class SharedFolders {
  readonly #logger: Logger;
  /** Running calls by path. */
  readonly #opening = new Map<string, Promise<void>>();
  #hasWarned = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Opens the entries of other users in a folder, before a workload starts that runs as `name` there. `record`: the
   * agent's file with the names of all users so far. Never rejects: at worst some files stay closed to the workload.
   */
  async admit(path: string, record: string, name: string): Promise<void> {
    try {
      const known = await readFile(record, 'utf8').then(
        (text) => text.split('\n').filter((line) => line !== ''),
        () => undefined,
      );
      if (name !== ROOT && (known === undefined || known.some((other) => other !== name))) await this.#open(path);
      if (known?.includes(name)) return;
      await mkdir(dirname(record), { recursive: true, mode: CLOSED });
      await writeFile(record, `${name}\n`, { flag: 'a', mode: 0o600 });
    } catch (error) {
      if (this.#hasWarned) return;
      this.#hasWarned = true;
      this.#logger.warn(
        { err: error, path },
        'files that another user left in a shared folder were not opened: others may find some closed',
      );
    }
  }

  /** Creates an empty record without users. */
  async begin(record: string): Promise<void> {
    await mkdir(dirname(record), { recursive: true, mode: CLOSED });
    await writeFile(record, '', { mode: 0o600 });
  }

  /** Opens the content. Concurrent calls share one run. */
  async #open(path: string): Promise<void> {
    if (!runsAsRoot()) return;
    const running = this.#opening.get(path) ?? openAll(path).finally(() => this.#opening.delete(path));
    this.#opening.set(path, running);
    await running;
  }
}

async function openAll(path: string): Promise<void> {
  const args = ['--mount', '--propagation', 'private', '--', '/bin/sh', '-c', OPEN_ALL, 'sh', path];
  await run('unshare', args, { cwd: '/', env: { PATH }, timeout: OPEN_MS_MAX, killSignal: 'SIGKILL' });
}
