/**
 * Views of host directories for commands. They are bind mounts without set-uid programs and device nodes, whatever root
 * in a container left there, and lie below a directory that only the command's user can pass. They exist while they are
 * used. The next agent removes the views that a killed agent left.
 */
import { createHash } from 'node:crypto';
import { chmod, chown, mkdir, readdir, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FolderLockedError, lockFolder } from '@slipway/kit/host/folder-lock';
import type { HostUser } from '@slipway/kit/host/host-user';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { HostPrograms } from '../container/host-programs.ts';
import { hostMounts, isBelow } from '../host-mounts.ts';

/** Default parent folder of views: an in-memory file system, which no clean-up of data walks through. */
const VIEWS_FOLDER = '/run/slipway';

/**
 * Directory modes. PASSABLE: others may pass through, but not list. GROUP_PASSES: only the group may, which is the
 * account.
 */
const PASSABLE = 0o711;
const GROUP_PASSES = 0o710;
/** Options that each view must have. */
const OPTIONS = ['nosuid', 'nodev'];
/** Most agents of one host that share a folder of volumes. */
const AGENTS_MAX = 100;

export class HostViews {
  readonly #parent: string;
  readonly #key: string;
  readonly #programs: HostPrograms;
  /** Number of users by target. */
  readonly #users = new Map<string, number>();
  /** Operations run one after the other: a mount must not be made twice. */
  #queue: Promise<unknown> = Promise.resolve();
  #folder = '';
  #unlock: () => void = () => undefined;
  #isAble: Promise<boolean> | undefined;

  /**
   * `of`: the folder whose directories are shown; views of the same folder have the same paths on all machines.
   * `parent`: default VIEWS_FOLDER.
   */
  constructor(of: string, programs: HostPrograms, parent = VIEWS_FOLDER) {
    this.#parent = parent;
    this.#key = createHash('sha256').update(of).digest('hex').slice(0, 8);
    this.#programs = programs;
  }

  /** Removes what a previous agent left. Never rejects. */
  async clear(): Promise<void> {
    if (runsAsRoot() && (await readdir(this.#parent).catch(() => [])).some((name) => name.startsWith(this.#key)))
      await this.isAble();
  }

  /** Returns whether this host lets the agent make views. Tested once. */
  isAble(): Promise<boolean> {
    this.#isAble ??=
      runsAsRoot() && process.platform === 'linux' ? this.#begin().catch(() => false) : Promise.resolve(false);
    return this.#isAble;
  }

  /** Returns the path of a directory for a user. Call it only after `isAble` resolved to true. */
  pathOf(source: string, { uid }: HostUser): string {
    return join(this.#folder, String(uid), basename(source));
  }

  /** Mounts a view of the directory until it is closed as often as it was opened. Rejects if it cannot be mounted. */
  async open(source: string, user: HostUser, readOnly = false): Promise<void> {
    await this.#next(async () => {
      const target = this.pathOf(source, user);
      const users = this.#users.get(target) ?? 0;
      if (users === 0) await this.#mount(source, target, user, readOnly);
      this.#users.set(target, users + 1);
    });
  }

  /** Ends one use of a view. Never rejects. */
  async close(source: string, user: HostUser): Promise<void> {
    await this.#next(async () => {
      const target = this.pathOf(source, user);
      const users = (this.#users.get(target) ?? 1) - 1;
      this.#users.set(target, users);
      if (users > 0) return;
      this.#users.delete(target);
      await this.#unmount(target).catch(() => undefined);
    });
  }

  /** Removes all views, when nothing uses them any more. Never rejects. */
  async end(): Promise<void> {
    if (this.#folder === '') return;
    await this.#next(() => this.#sweep()).catch(() => undefined);
    // Removed while still locked: the next agent of this folder creates it again.
    await rmdir(this.#folder).catch(() => undefined);
    this.#unlock();
  }

  async #begin(): Promise<boolean> {
    await this.#take();
    await this.#sweep();
    const [probe, user] = [join(this.#folder, 'probe'), { uid: 0, gid: 0 }];
    await mkdir(probe, { recursive: true });
    await this.#mount(probe, this.pathOf(probe, user), user);
    await this.#unmount(this.pathOf(probe, user));
    await rmdir(probe);
    return true;
  }

  /** Locks a folder that no other agent uses. */
  async #take(): Promise<void> {
    for (let number = 1; number <= AGENTS_MAX; number += 1) {
      const folder = join(this.#parent, number === 1 ? this.#key : `${this.#key}-${number}`);
      await mkdir(folder, { recursive: true });
      for (const path of [this.#parent, folder]) await chmod(path, PASSABLE);
      try {
        this.#unlock = await lockFolder(folder, 'views');
        this.#folder = folder;
        return;
      } catch (error) {
        if (!(error instanceof FolderLockedError)) throw error;
      }
    }
    throw new Error(`${AGENTS_MAX} agents use ${this.#parent}`);
  }

  async #mount(source: string, target: string, { uid, gid }: HostUser, readOnly = false): Promise<void> {
    const options = readOnly ? [...OPTIONS, 'ro'] : OPTIONS;
    const gate = join(this.#folder, String(uid));
    await mkdir(gate, { recursive: true });
    await chown(gate, 0, gid);
    await chmod(gate, GROUP_PASSES);
    await this.#unmount(target);
    await mkdir(target, { mode: 0o755, recursive: true });
    await this.#programs.run('mount', ['--bind', '-o', options.join(','), source, target]);
    const made = (await hostMounts()).findLast(({ point }) => point === target);
    if (options.every((option) => made?.options.includes(option))) return;
    await this.#unmount(target);
    throw new Error(`${source} could not be mounted ${options.join(' and ')} at ${target}`);
  }

  /**
   * Unmounts the target, however often it was mounted. A process that is still inside keeps its mount until it leaves.
   */
  async #unmount(target: string): Promise<void> {
    for (const { point } of await hostMounts()) {
      if (point === target) await this.#programs.run('umount', ['--lazy', target]);
    }
    await rmdir(target).catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    await sweepViews(this.#folder, this.#programs);
    this.#users.clear();
  }

  #next(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => undefined);
    return done;
  }
}

/** Removes the views in a folder and their directories. */
async function sweepViews(folder: string, programs: HostPrograms): Promise<void> {
  for (const { point } of (await hostMounts()).toReversed()) {
    if (point !== folder && isBelow(point, folder)) await programs.run('umount', ['--lazy', point]);
  }
  for (const uid of await readdir(folder).catch(() => [])) {
    for (const name of await readdir(join(folder, uid)).catch(() => []))
      await rmdir(join(folder, uid, name)).catch(() => undefined);
    await rmdir(join(folder, uid)).catch(() => undefined);
  }
}
