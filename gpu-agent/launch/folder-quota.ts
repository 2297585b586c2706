/**
 * Holds folders to a size by project quotas of their file system, ext4 or XFS mounted with `prjquota`. Whether that
 * works is tried, not believed: a folder of the agent's own must refuse a byte too many. Its owner could give a file to
 * another project, so this is for accidents, not for attackers.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runsAsRoot } from '@slipway/kit/host/host-user';
import type { HostMount } from '../executors/host-mounts.ts';
import { hostMounts, mountOf } from '../executors/host-mounts.ts';

const run = promisify(execFile);

const PATH = '/usr/sbin:/usr/bin:/sbin:/bin';
const RUN_MS = 10_000;
const KIB = 1024;
const GB = 1000 ** 3;
const PROBE_KIB = 1_024;
/** Projects of folders begin here: an operator's own have small numbers. */
const PROJECT_BASE = 2 ** 30;

/** Programs with their arguments. */
export interface QuotaCommands {
  /** Puts an empty folder into a project. */
  join: [program: string, ...args: string[]];
  /** Bounds all of the project. */
  bound: [program: string, ...args: string[]];
}

/** Returns what holds a folder on this mount to a size in KiB. Undefined: it counts no projects. Pure. */
export function quotaCommands(
  mount: HostMount | undefined,
  folder: string,
  project: number,
  kib: number,
): QuotaCommands | undefined {
  // Its programs take lines, in which a space ends a word.
  if (
    !mount ||
    /\s/.test(folder) ||
    ![...mount.fileSystemOptions, ...mount.options].some((option) => /^p(rj)?quota$/.test(option))
  )
    return undefined;
  const { type, point } = mount;
  if (type === 'xfs') {
    const line = (text: string): QuotaCommands['join'] => ['xfs_quota', '-x', '-c', text, point];
    return { join: line(`project -s -p ${folder} ${project}`), bound: line(`limit -p bhard=${kib}k ${project}`) };
  }
  if (type !== 'ext4') return undefined;
  return {
    join: ['chattr', '-p', String(project), '+P', folder],
    bound: ['setquota', '-P', String(project), '0', String(kib), '0', '0', point],
  };
}

/** Returns the project of a folder's name. */
export function projectOf(name: string): number {
  return PROJECT_BASE + (createHash('sha256').update(name).digest().readUInt32BE() % PROJECT_BASE);
}

export class FolderQuota {
  readonly #folder: string;
  #holds: Promise<boolean> | undefined;

  /** Of the folders in this one. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Whether sizes hold here. Tried once. */
  holds(): Promise<boolean> {
    this.#holds ??= this.#try().catch(() => false);
    return this.#holds;
  }

  /**
   * Holds a folder to a size: what is put into it from now on counts. `isNew`: it is empty, and new here. Rejects with
   * what a program said.
   */
  async bound(name: string, gb: number, isNew: boolean): Promise<void> {
    if (gb > 0 && (await this.holds())) await this.#apply(name, Math.floor((gb * GB) / KIB), isNew);
  }

  async #try(): Promise<boolean> {
    if (!runsAsRoot()) return false;
    const probe = join(this.#folder, '.quota-probe');
    if (!quotaCommands(mountOf(this.#folder, await hostMounts()), probe, 1, PROBE_KIB)) return false;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await rm(probe, { recursive: true, force: true });
    await mkdir(probe);
    try {
      await this.#apply('.quota-probe', PROBE_KIB, true);
      // Root may pass all bounds unless it gives that right up.
      const write = [
        '--bounding-set',
        '-sys_resource',
        '--inh-caps',
        '-sys_resource',
        'dd',
        'if=/dev/zero',
        `of=${probe}/full`,
        'bs=1M',
        'count=2',
      ];
      const said = await run('setpriv', write, { env: { PATH }, timeout: RUN_MS }).then(
        () => '',
        (error: { stderr?: string }) => error.stderr ?? '',
      );
      return /quota/i.test(said);
    } finally {
      await rm(probe, { recursive: true, force: true });
    }
  }

  async #apply(name: string, kib: number, isNew: boolean): Promise<void> {
    const commands = quotaCommands(
      mountOf(this.#folder, await hostMounts()),
      join(this.#folder, name),
      projectOf(name),
      kib,
    );
    if (!commands) return;
    for (const [program, ...args] of [...(isNew ? [commands.join] : []), commands.bound])
      await run(program, args, { env: { PATH }, timeout: RUN_MS });
  }
}
