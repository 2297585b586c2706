/** The files of pods: `<folder>/<pod>/<disk>`. A disk is one directory; a new number is an empty one and the others go. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** What an id must look like before it becomes part of a path: nothing that leads elsewhere. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;

/** Whether a pod's id and disk may become a path. */
export function isPlain(podId: string, disk: number): boolean {
  return PLAIN_ID.test(podId) && Number.isSafeInteger(disk) && disk > 0;
}

/** See the file's first line. */
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

  /** Makes a disk if it is not there, and removes the pod's other disks. Answers its path. */
  async open(podId: string, disk: number): Promise<string> {
    const path = join(this.#of(podId), String(disk));
    await mkdir(path, { recursive: true });
    for (const name of await readdir(this.#of(podId))) {
      if (name !== String(disk)) await rm(join(this.#of(podId), name), { recursive: true, force: true });
    }
    return path;
  }

  /** Removes all of a pod. */
  async remove(podId: string): Promise<void> {
    await rm(this.#of(podId), { recursive: true, force: true });
  }

  #of(podId: string): string {
    if (!PLAIN_ID.test(podId)) throw new Error(`${JSON.stringify(podId)} is not the id of a pod`);
    return join(this.#folder, podId);
  }
}
