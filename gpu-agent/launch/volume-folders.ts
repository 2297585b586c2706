/**
 * Directories of network volumes on this machine: `<folder>/<id>`. Root in a container may leave files there that make
 * any user who runs them root, and open the volume to everyone. Therefore only the agent can pass the folder: images
 * get their volume mounted, and commands get a view of it (host-views.ts). Where that is impossible, a volume serves
 * either images or commands for as long as it exists.
 */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { Logger } from '@slipway/kit/log/logger';
import type { VolumeMount } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Mount } from '../executors/executor.ts';
import { PrepareError } from '../executors/executor.ts';
import type { HostViews } from '../executors/process/host-views.ts';
import { giveFolder } from '../users/given-folder.ts';
import { closeToOthers, openShared, ROOT, SharedFolders } from '../users/shared-folder.ts';
import { FolderQuota } from './folder-quota.ts';

/** Format of an id that may become part of a path: it cannot lead to another directory. */
const PLAIN_ID = /^[a-z0-9]{1,64}$/;
/**
 * Other entries that are expected in the folder: the agent's own, and entries that a file system or NAS has in its top
 * directory.
 */
const OTHERS = /^(?:\..*|lost\+found)$/;
/**
 * Folders of record files, one file per volume: who has used the volume, and which kind it serves where it can serve
 * only one.
 */
const RECORDS = '.users';
const SERVES = '.serves';
/** Others may pass through, but not list. */
const PASSABLE = 0o711;

type By = 'process' | 'container';
const WORDS: Record<By, string> = { process: 'commands', container: 'images' };

/** What an NFS server answers to a root user that it maps to `nobody` (root_squash). */
const NOT_ALLOWED: ReadonlySet<string> = new Set(['EPERM', 'EACCES']);

export class VolumeFolders {
  readonly #folder: string;
  readonly #views: HostViews | undefined;
  readonly #shared: SharedFolders;
  readonly #logger: Logger;
  readonly #quota: FolderQuota;
  #mixes: Promise<boolean> | undefined;
  /** Only the agent can pass the folder. */
  #isClosed = false;

  /** `views`: `undefined` where no commands run. */
  constructor(folder: string, views: HostViews | undefined, logger: Logger) {
    this.#folder = folder;
    this.#views = views;
    this.#shared = new SharedFolders(logger);
    this.#logger = logger;
    this.#quota = new FolderQuota(folder);
  }

  /**
   * Creates missing volumes and prepares them for a workload of their account. Returns where the workload finds them;
   * for a command, a mount with two equal paths is not mounted. `user`: the user that commands run as, `undefined` for
   * the agent's. Rejects if an id is invalid, a directory cannot be created, or the volume serves the other kind
   * (PrepareError).
   */
  async open(volumes: readonly VolumeMount[], by: By, user: HostUser | undefined): Promise<Mount[]> {
    for (const { networkVolumeId: id } of volumes)
      if (!PLAIN_ID.test(id)) throw new Error(`${JSON.stringify(id)} is not the id of a network volume`);
    if (volumes.length === 0) return [];
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    this.#mixes ??= this.#canMix(user !== undefined);
    const mixes = await this.#mixes;
    const mounts: Mount[] = [];
    for (const volume of volumes) {
      const opened = mixes ? this.#share(volume, by, user) : this.#dedicate(volume, by, user);
      mounts.push(
        await opened.catch((error: NodeJS.ErrnoException) => {
          throw NOT_ALLOWED.has(error.code ?? '') ? notAllowed(volume.networkVolumeId, error) : error;
        }),
      );
    }
    return mounts;
  }

  /** Returns whether the sizes of volumes are enforced here. */
  holdsSizes(): Promise<boolean> {
    return this.#quota.holds();
  }

  async #share(
    { networkVolumeId: id, mountPath, sizeGb }: VolumeMount,
    by: By,
    user: HostUser | undefined,
  ): Promise<Mount> {
    const [source, record] = [join(this.#folder, id), join(this.#folder, RECORDS, id)];
    const isNew = await openShared(source, user);
    if (isNew) await this.#shared.begin(record);
    await this.#quota.bound(id, sizeGb, isNew).catch((error: unknown) => {
      this.#logger.warn({ err: error, volume: id }, 'a network volume is not held to its size');
    });
    if (by === 'container')
      return { source, target: mountPath, admit: (name) => this.#shared.admit(source, record, name) };
    await this.#shared.admit(source, record, user ? String(user.uid) : ROOT);
    return { source, target: user ? this.#views!.pathOf(source, user) : source };
  }

  async #dedicate({ networkVolumeId: id, mountPath }: VolumeMount, by: By, user: HostUser | undefined): Promise<Mount> {
    const source = join(this.#folder, id);
    const record = join(this.#folder, SERVES, id);
    await mkdir(join(this.#folder, SERVES), { recursive: true, mode: 0o700 });
    const serves = await writeFile(record, by, { flag: 'wx' }).then(
      () => by as string,
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
        return readFile(record, 'utf8');
      },
    );
    if (serves !== by) {
      const words =
        `network volume ${id} serves ${WORDS[by === 'process' ? 'container' : 'process']} on this machine, so it ` +
        `cannot serve ${WORDS[by]}`;
      throw new PrepareError('REFUSED', `${words}: use another volume, or another machine (its agent's log says why)`);
    }
    if (by === 'container' && this.#isClosed) await openShared(source);
    else await giveFolder(source, user);
    return { source, target: by === 'container' ? mountPath : source };
  }

  /**
   * Returns whether one volume may serve both images and commands: only the agent can pass the folder, and commands
   * have views or run as the agent's own user.
   */
  async #canMix(hasUsers: boolean): Promise<boolean> {
    const hindrance = await this.#hindrance(hasUsers);
    if (hindrance === undefined) return true;
    // Only root has separate users for its workers, and they reach their volumes through this folder.
    if (hasUsers) await chmod(this.#folder, PASSABLE).catch(() => undefined);
    this.#logger.warn(
      { reason: hindrance, folder: this.#folder },
      'a network volume serves either images or commands on this machine',
    );
    return false;
  }

  async #hindrance(hasUsers: boolean): Promise<string | undefined> {
    const strange = (await readdir(this.#folder)).find((name) => !PLAIN_ID.test(name) && !OTHERS.test(name));
    if (strange !== undefined)
      return (
        `${strange} lies in the folder of volumes, which the agent therefore does not close: give volumes a ` +
        'folder of their own'
      );
    if (hasUsers && this.#views && !(await this.#views.isAble()))
      return 'the agent may not mount (it needs CAP_SYS_ADMIN and /run)';
    this.#isClosed = await closeToOthers(this.#folder);
    if (!this.#isClosed) return "the folder of volumes is not the agent's own";
    return runsAsRoot() ? undefined : 'the agent is not root';
  }
}

function notAllowed(id: string, error: NodeJS.ErrnoException): PrepareError {
  const words = `network volume ${id} cannot be made or given to its account on this machine (${error.message})`;
  return new PrepareError('REFUSED', `${words}: if its folder is shared by NFS, export it with no_root_squash`);
}
