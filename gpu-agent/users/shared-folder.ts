/**
 * Folders that several users of one account share, below one that nobody else passes: each image has a user of its own,
 * which may change with every release, and commands have the account's. All may do with what is in there what its owner
 * may. New entries of a program have the modes that it gave them, so they are opened when somebody else comes; a folder
 * that has one user only keeps its modes for ever.
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
/** Whose users' names are root: nothing is closed to it. */
export const ROOT = 'root';
/** Nothing is inherited. */
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
/** Longest time of opening what is in a folder, in milliseconds. What is left is opened when the next one comes. */
const OPEN_MS_MAX = 60_000;

/**
 * Gives group and others what the owner has. On a mount without symbolic links, in a namespace of its own that goes
 * with the shell: whoever swaps a directory for a link meanwhile leads root nowhere. The last line is the latest mount.
 */
const OPEN_ALL = `
mount --bind "$1" "$1" && mount -o remount,bind,nosuid,nodev,nosymfollow "$1" || exit 3
tail -n 1 /proc/self/mountinfo | grep -q nosymfollow || exit 3
cd "$1" && exec find . -xdev '(' -type d -o -type f ')' \\
  '(' -perm -u=r ! -perm -go=r -o -perm -u=w ! -perm -go=w -o -perm -u=x ! -perm -go=x ')' -exec chmod go=u -- {} +
`;

/**
 * Makes it where it is not there, with `owner` if one is given, and opens it, not what is in it. True: it was made. The
 * one above must be closed.
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

/** Closes a folder to all but the agent. False: it is not the agent's own. */
export async function closeToOthers(path: string): Promise<boolean> {
  const found = await lstat(path);
  if (found.uid !== process.getuid?.()) return false;
  if ((found.mode & PERMISSIONS & ~CLOSED) !== 0) await chmod(path, CLOSED);
  return true;
}

/** Opens what others left in shared folders, for those who come. */
export class SharedFolders {
  readonly #logger: Logger;
  /** By path. */
  readonly #opening = new Map<string, Promise<void>>();
  #hasWarned = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Opens what others left in a folder, before a unit comes that runs as `name` there; `record` is the file that says
   * who has come so far, the agent's own. Never rejects: at worst something stays closed to it.
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

  /** Nobody has come yet. */
  async begin(record: string): Promise<void> {
    await mkdir(dirname(record), { recursive: true, mode: CLOSED });
    await writeFile(record, '', { mode: 0o600 });
  }

  /** Those who come at the same time share it. */
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
