/** The files of pods: `<folder>/<pod>/<disk>`. A disk is one directory; a new number is an empty one and the others go. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostUser } from '../../../core/runtime/host-user.ts';
import { dropAllIn, dropFolder, giveFolder } from '../../users/given-folder.ts';

/** What an id must look like before it becomes part of a path: nothing that leads elsewhere. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;

/** Others may pass through, not look around. */
const PASSABLE = 0o711;

/** Whether a pod's id and disk may become a path. */
export function isPlain(podId: string, disk: number): boolean {
  return PLAIN_ID.test(podId) && Number.isSafeInteger(disk) && disk > 0;
}

export class PodFiles {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Ids that have files here, of whatever run of the agent. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#folder).catch((error: NodeJS.ErrnoException): string[] => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names.filter((name) => PLAIN_ID.test(name));
  }

  /** Makes a disk if it is not there, gives it to `user` if there is one, and removes the pod's other disks. Answers its path. */
  async open(podId: string, disk: number, user?: HostUser): Promise<string> {
    const path = join(this.#of(podId), String(disk));
    await mkdir(this.#of(podId), { recursive: true, mode: PASSABLE });
    await giveFolder(path, user);
    for (const name of await readdir(this.#of(podId))) {
      if (name !== String(disk)) await dropFolder(join(this.#of(podId), name));
    }
    return path;
  }

  /** Removes all of a pod. */
  async remove(podId: string): Promise<void> {
    await dropAllIn(this.#of(podId));
    await dropFolder(this.#of(podId));
  }

  #of(podId: string): string {
    if (!PLAIN_ID.test(podId)) throw new Error(`${JSON.stringify(podId)} is not the id of a pod`);
    return join(this.#folder, podId);
  }
}
