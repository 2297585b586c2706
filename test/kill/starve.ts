/** Takes most of the processor from processes, as a busy host or a small quota does. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants } from '../helpers/system/process-table.ts';

/** As long as a host may be busy with other work, and longer than the first limits of connections. */
const PERIOD_MS = 8_000;
/**
 * Shell code that resumes the processes of the last line that it read once there are no more lines. It does that also
 * if the test is killed: stopped processes do not notice the end of their parent.
 */
const RESUME_AT_END = 'pids=; while read -r line; do pids=$line; done; [ -z "$pids" ] || kill -CONT $pids 2>/dev/null';

/**
 * Lets processes and all that they start run for `share` of the time, until `work` has ended. They run freely
 * afterwards, also if `work` fails.
 */
export async function starveWhile<Result>(
  pids: () => readonly number[],
  share: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const resumer = spawn('/bin/sh', ['-c', RESUME_AT_END], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
  const working = work();
  let isOver = false;
  const ended = working.then(
    () => void (isOver = true),
    () => void (isOver = true),
  );
  try {
    while (!isOver) {
      const all = pids().flatMap((pid) => descendants(pid).map((entry) => entry.pid));
      await record(resumer, all);
      for (const pid of all) signal(pid, 'SIGSTOP');
      try {
        await Promise.race([ended, delay(PERIOD_MS * (1 - share))]);
      } finally {
        for (const pid of all) signal(pid, 'SIGCONT');
      }
      await Promise.race([ended, delay(PERIOD_MS * share)]);
    }
  } finally {
    resumer.stdin!.end();
    await once(resumer, 'exit');
  }
  return working;
}

/** Writes the processes that are about to be stopped. Resolves when the pipe has them. */
function record({ stdin }: ChildProcess, pids: readonly number[]): Promise<void> {
  return new Promise((resolve, reject) => {
    stdin!.write(`${pids.join(' ')}\n`, (error) => (error ? reject(error) : resolve()));
  });
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended since.
  }
}
