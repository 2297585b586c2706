/**
 * Whether a container ran out of memory, as the kernel counted it. Podman does not say so on every machine, and the
 * count goes with the container's control group: it is read the moment the output ends, before the engine cleans up.
 * Where the engine was quicker, the kernel's log may tell.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hostPrograms } from './host-programs.ts';

/** Where control groups are mounted; of version 1 each kind in a folder of its own. */
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

  /** How many of its processes the kernel ended because the group was out of memory. Undefined: it cannot be seen. */
  async kills(): Promise<number | undefined> {
    for (const file of this.#files) {
      const count = /^oom_kill (\d+)$/m.exec(await readFile(file, 'utf8').catch(() => ''))?.[1];
      if (count !== undefined) return Number(count);
    }
    return undefined;
  }
}

/**
 * How many lines of the kernel's log say that it ended a process of this container for its memory. Undefined: none
 * does, which is no proof that none was ended (the kernel writes ten in five seconds at most), or this user may not
 * read the log.
 */
export async function killsInKernelLog(containerId: string): Promise<number | undefined> {
  const log = await hostPrograms.run('dmesg', []).catch(() => '');
  const lines = log.split('\n').filter((line) => line.includes('oom-kill:') && line.includes(containerId));
  return lines.length || undefined;
}
