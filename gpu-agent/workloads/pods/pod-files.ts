/**
 * Files of pods: `<folder>/<pod>/<disk>`. A disk is one directory. A new disk number is an empty directory, and the
 * other disks are removed. Root in a container may open its disk to everyone and leave files there that make any user
 * who runs them root. Therefore only the agent can pass the directory above.
 */
import { existsSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { Mount } from '../../executors/executor.ts';
import { dropAllIn, dropFolder, giveFolder } from '../../users/given-folder.ts';
import type { SharedFolders } from '../../users/shared-folder.ts';
import { closeToOthers, openShared } from '../../users/shared-folder.ts';

/** Format of an id that may become part of a path: it cannot lead to another directory. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;

/** Ending of the files that list who has used a disk. */
const USERS = '.users';
/** Directory modes. PASSABLE: others may pass through, but not list. GROUP_PASSES: only the group may. */
const PASSABLE = 0o711;
const GROUP_PASSES = 0o710;
const CLOSED = 0o700;

/** Returns whether a pod's id and disk may become a path. */
export function isPlain(podId: string, disk: number): boolean {
  return PLAIN_ID.test(podId) && Number.isSafeInteger(disk) && disk > 0;
}

export class PodFiles {
  readonly #folder: string;
  readonly #shared: SharedFolders;

  constructor(folder: string, shared: SharedFolders) {
    this.#folder = folder;
    this.#shared = shared;
  }

  /** Returns the ids of pods that have files here, also of previous runs of the agent. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException): string[] => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => PLAIN_ID.test(name));
  }

  /**
   * Creates the disk if it does not exist, gives it to `user` if there is one, and removes the pod's other disks.
   * Returns its path.
   */
  async open(podId: string, disk: number, user?: HostUser): Promise<string> {
    const path = join(this.#of(podId), String(disk));
    await mkdir(this.#of(podId), { recursive: true, mode: PASSABLE });
    await giveFolder(path, user);
    for (const name of await readdir(this.#of(podId))) {
      if (name === String(disk) || name === recordOf(disk)) continue;
      await this.#takeBack(join(this.#of(podId), name));
      await dropFolder(join(this.#of(podId), name));
    }
    return path;
  }

  /**
   * Opens the disk of a pod that is about to start. A disk that an image used becomes private to the pod's command, and
   * vice versa.
   */
  async openFor(
    podId: string,
    disk: number,
    by: 'process' | 'container',
    user: HostUser | undefined,
  ): Promise<Omit<Mount, 'target'>> {
    const folder = this.#of(podId);
    await mkdir(folder, { recursive: true, mode: PASSABLE });
    if (by === 'process') {
      const source = await this.open(podId, disk, user);
      if (user) {
        await chmod(source, CLOSED);
        await chown(folder, 0, user.gid);
        await chmod(folder, GROUP_PASSES);
      }
      return { source };
    }
    const record = join(folder, recordOf(disk));
    if (!(await closeToOthers(folder))) return { source: await this.open(podId, disk, user) };
    if (await openShared(join(folder, String(disk)))) await this.#shared.begin(record);
    const source = await this.open(podId, disk);
    if (runsAsRoot()) await lchown(source, 0, 0);
    return { source, admit: (name) => this.#shared.admit(source, record, name) };
  }

  /** Removes all files of a pod. */
  async remove(podId: string): Promise<void> {
    const folder = this.#of(podId);
    for (const name of await readdir(folder).catch(() => [])) await this.#takeBack(join(folder, name));
    await dropAllIn(folder);
    await dropFolder(folder);
  }

  /**
   * Takes back a disk that images used. Its content belongs to several users where containers have host users of their
   * own, so none of these could remove all of it.
   */
  async #takeBack(path: string): Promise<void> {
    if (runsAsRoot() && existsSync(`${path}${USERS}`)) await lchown(path, 0, 0);
  }

  #of(podId: string): string {
    if (!PLAIN_ID.test(podId)) throw new Error(`${JSON.stringify(podId)} is not the id of a pod`);
    return join(this.#folder, podId);
  }
}

/** Returns the name of the file that lists who has used a disk. */
function recordOf(disk: number): string {
  return `${disk}${USERS}`;
}
