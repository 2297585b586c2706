/**
 * Finds out whether a container ran out of memory, by the kernel's counters. Podman does not report it on every
 * machine. The counter disappears with the container's control group, so it is read the moment the output ends, before
 * the engine cleans up. If the engine was faster, the kernel's log may still show it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostPrograms } from './host-programs.ts';

/** Mount point of control groups; in version 1 each kind has its own folder. */
const CGROUPS = '/sys/fs/cgroup';

export class MemoryWatch {
  readonly #files: string[];

  private constructor(files: string[]) {
    this.#files = files;
  }

  /** Finds the control group of a process on this host. */
  static async of(pid: number): Promise<MemoryWatch> {
    const lines =
      pid === 0
        ? []
        : (await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
    const pathOf = (kind: (name: string) => boolean): string | undefined =>
      lines
        .find(([, name]) => name !== undefined && kind(name))
        ?.slice(2)
        .join(':');
    const first = pathOf((name) => name.split(',').includes('memory'));
    const second = pathOf((name) => name === '');
    return new MemoryWatch([
      ...(first ? [join(CGROUPS, 'memory', first, 'memory.oom_control')] : []),
      ...(second ? [join(CGROUPS, second, 'memory.events')] : []),
    ]);
  }

  /**
   * Returns how many of its processes the kernel ended because the group was out of memory. `undefined` if that cannot
   * be seen.
   */
  async kills(): Promise<number | undefined> {
    for (const file of this.#files) {
      const count = /^oom_kill (\d+)$/m.exec(await readFile(file, 'utf8').catch(() => ''))?.[1];
      if (count !== undefined) return Number(count);
    }
    return undefined;
  }
}

/**
 * Returns how many lines of the kernel's log report that it ended a process of this container because of its memory.
 * `undefined` if there are none, or if this user may not read the log. No lines are no proof: the kernel writes at most
 * ten in five seconds. 0 without a look at the log if the container has succeeded.
 */
export async function killsInKernelLog(containerId: string, exitCode?: number): Promise<number | undefined> {
  if (exitCode === 0) return 0;
  const log = await hostPrograms.run('dmesg', []).catch(() => '');
  const lines = log.split('\n').filter((line) => line.includes('oom-kill:') && line.includes(containerId));
  return lines.length || undefined;
}
