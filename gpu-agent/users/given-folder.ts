/**
 * Folders that the agent gives to the user of a worker or pod, and removes again. The owner of a folder can put links
 * into it at any moment. Root therefore never walks through one by path: content is removed as its owner.
 */
import { execFile } from 'node:child_process';
import { lchown, lstat, mkdir, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot, tryAs } from '@slipway/kit/host/host-user';

const run = promisify(execFile);

/**
 * Script that changes the owner. chown handles each entry in place, follows no link, and clears set-uid. A device node
 * would belong to the new owner, so it is deleted.
 */
const HAND_OVER = 'find "$1" -xdev "(" -type b -o -type c ")" -delete && exec chown -hR "$2" "$1"';

/** Script that empties a folder, whatever modes its owner gave to the content. */
const EMPTY = 'chmod u+rwx -- "$1"; cd -- "$1" && { chmod -R u+rwx . 2>/dev/null; find . -mindepth 1 -delete; }';

/**
 * Creates a folder that belongs to a user alone, unless it exists. A folder of another owner is handed over with its
 * content. The parent folder must be the agent's own. Without a user the folder is only created, with its parents.
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
 * Removes a folder with its content, of any owner. Does nothing if it does not exist. The parent folder must be the
 * agent's own.
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
 * Removes the content of one of the agent's own folders. Does nothing if the folder does not exist. An entry that
 * cannot be removed does not keep others from being removed.
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
