/**
 * Folders that the agent gives to the user of a worker or pod, and takes away again. Whoever owns a folder can put
 * links into it at any moment, so root never walks through one by names: what must be removed in it is removed as its
 * owner.
 */
import { execFile } from 'node:child_process';
import { lchown, lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot, tryAs } from '@slipway/kit/host/host-user';

const run = promisify(execFile);

/**
 * chown looks at each thing where it stands, follows no link, and ends set-uid; a device node would be its new owner's.
 */
const HAND_OVER = 'find "$1" -xdev "(" -type b -o -type c ")" -delete && exec chown -hR "$2" "$1"';

/** Empties a folder, whatever modes its owner gave to what is in it. */
const EMPTY = 'chmod u+rwx -- "$1"; cd -- "$1" && { chmod -R u+rwx . 2>/dev/null; find . -mindepth 1 -delete; }';

/**
 * Makes a folder for a user, whose only it is, unless it is there; one that belonged to somebody else is handed over
 * with all in it. The folder above must be the agent's own. Without a user it is simply made, with those above it.
 */
export async function giveFolder(path: string, user: HostUser | undefined): Promise<void> {
  if (!user) {
    await mkdir(path, { recursive: true });
    return;
  }
  const made = await mkdir(path, { mode: 0o700 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return false;
    },
  );
  if (made) return lchown(path, user.uid, user.gid);
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`${path} is not a folder`);
  if (found.uid !== user.uid || found.gid !== user.gid)
    await run('/bin/sh', ['-c', HAND_OVER, 'sh', path, `${user.uid}:${user.gid}`]);
}

/**
 * Removes a folder with all in it, whoever owns it; harmless when there is none. The folder above must be the agent's
 * own.
 */
export async function dropFolder(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (!found) return;
  if (!runsAsRoot() || found.uid === 0 || !found.isDirectory()) return rm(path, { recursive: true, force: true });
  const failure = await tryAs(found, EMPTY, path);
  if (failure !== undefined) throw new Error(`${path} could not be emptied as its owner: ${failure}`);
  await rmdir(path);
}

/**
 * Removes all that is in a folder of the agent's own; harmless when there is none. What cannot be removed keeps nothing
 * else from it.
 */
export async function dropAllIn(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code !== 'ENOENT') throw error;
    return [];
  });
  const ends = await Promise.allSettled(names.map((name) => dropFolder(join(folder, name))));
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed) throw failed.reason;
}
