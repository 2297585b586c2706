/**
 * Limits the size of folders by project quotas of their file system: ext4 or XFS mounted with `prjquota`. Whether
 * quotas work is tested, not assumed: a folder of the agent's own must reject one byte too many. A file's owner could
 * move it to another project, so this guards against accidents, not against attackers.
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
/** First project number of folders: an operator's own projects have small numbers. */
const PROJECT_BASE = 2 ** 30;

/** Programs with their arguments. */
interface QuotaCommands {
  /** Puts an empty folder into a project. */
  join: [program: string, ...args: string[]];
  /** Limits the size of the project. */
  bound: [program: string, ...args: string[]];
}

/**
 * Returns the commands that limit a folder on this mount to a size in KiB. `undefined` if the mount has no project
 * quotas. Pure.
 */
export function quotaCommands(
  mount: HostMount | undefined,
  folder: string,
  project: number,
  kib: number,
): QuotaCommands | undefined {
  // The quota programs parse lines, in which a space separates words.
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

/** Returns the project number for a folder's name. */
export function projectOf(name: string): number {
  return PROJECT_BASE + (createHash('sha256').update(name).digest().readUInt32BE() % PROJECT_BASE);
}

export class FolderQuota {
  readonly #folder: string;
  #holds: Promise<boolean> | undefined;

  /** `folder`: parent of the folders to limit. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns whether sizes are enforced here. Tested once. */
  holds(): Promise<boolean> {
    this.#holds ??= this.#try().catch(() => false);
    return this.#holds;
  }

  /**
   * Limits the size of a folder; files added from now on count. `isNew`: the folder is empty and was just created.
   * Rejects with a program's error output.
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
      // Root ignores quotas unless it drops that capability.
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
