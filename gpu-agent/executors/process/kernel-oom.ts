/**
 * Whether the kernel ended a process because memory ran out, by its log: a control group that counts memory is not
 * everywhere.
 */
import type { HostPrograms } from '../container/host-programs.ts';

/** The kernel's clock and ours differ by less, in seconds. */
const CLOCKS_DIFFER_S = 5;

/** `sinceS`: when the process began, in seconds since the host's start. False also where the log may not be read. */
export async function wasEndedForMemory(
  pid: number,
  sinceS: number,
  programs: Pick<HostPrograms, 'run'>,
): Promise<boolean> {
  const log = await programs.run('dmesg', []).catch(() => '');
  return log.split('\n').some((line) => {
    if (!line.includes('oom-kill:') || !line.includes(`,pid=${pid},`)) return false;
    // A process of an earlier time may have had the same number.
    return Number(/^\[\s*(\d+\.\d+)\]/.exec(line)?.[1] ?? 0) >= sinceS - CLOCKS_DIFFER_S;
  });
}
