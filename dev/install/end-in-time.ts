/** Waits for processes that should end by themselves, and for no longer than that may take. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '@slipway/kit/time/clock';

/** Resolves when all processes have ended. Those that still run after `ms` are killed. */
export async function endInTime(
  children: readonly ChildProcess[],
  ms: number,
  clock: Pick<Clock, 'after'>,
): Promise<void> {
  const running = new Set(children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null));
  const timer = clock.after(ms, () => {
    for (const child of running) child.kill('SIGKILL');
  });
  // A process that cannot be started ends with an error.
  await Promise.all([...running].map((child) => once(child, 'exit').catch(() => undefined)));
  timer.cancel();
}
