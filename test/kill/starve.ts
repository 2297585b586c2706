/** Takes most of the processor from processes, as a busy host or a small quota does. */
import { setTimeout as delay } from 'node:timers/promises';
import { descendants } from '../helpers/system/process-table.ts';

/** As long as a host may be busy with other work, and longer than the first limits of connections. */
const PERIOD_MS = 8_000;

/**
 * Lets processes and all that they start run for `share` of the time, until `work` has ended. They run freely
 * afterwards, also if `work` fails.
 */
export async function starveWhile<Result>(
  pids: () => readonly number[],
  share: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const working = work();
  let isOver = false;
  const ended = working.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  while (!isOver) {
    const all = pids().flatMap((pid) => descendants(pid).map((entry) => entry.pid));
    for (const pid of all) signal(pid, 'SIGSTOP');
    try {
      await Promise.race([ended, delay(PERIOD_MS * (1 - share))]);
    } finally {
      for (const pid of all) signal(pid, 'SIGCONT');
    }
    await Promise.race([ended, delay(PERIOD_MS * share)]);
  }
  return working;
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended since.
  }
}
