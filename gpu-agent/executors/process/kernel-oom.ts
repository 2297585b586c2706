/**
 * Finds out from the kernel's log whether the kernel ended a process because memory ran out. Not every host has a
 * control group that counts memory.
 */
import type { HostPrograms } from '../container/host-programs.ts';

/** The kernel's clock and ours differ by less than this, in seconds. */
const CLOCKS_DIFFER_S = 5;

/**
 * Returns whether the kernel ended the process. `sinceS`: when the process began, in seconds since the host's start.
 * Also false if the log may not be read.
 */
export async function wasEndedForMemory(
  pid: number,
  sinceS: number,
  programs: Pick<HostPrograms, 'run'>,
): Promise<boolean> {
  const log = await programs.run('dmesg', []).catch(() => '');
  return log.split('\n').some((line) => {
    if (!line.includes('oom-kill:') || !line.includes(`,pid=${pid},`)) return false;
    // An earlier process may have had the same id.
    return Number(/^\[\s*(\d+\.\d+)\]/.exec(line)?.[1] ?? 0) >= sinceS - CLOCKS_DIFFER_S;
  });
}
