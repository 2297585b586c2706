/**
 * Measures how long the event loop of this thread is blocked: the thread's processor time from one tick to the next.
 * Other processes on a busy machine and other threads therefore do not count.
 */

/** Starts measuring. The returned function stops it and returns the longest ticks in milliseconds, longest first. */
export function measureLoop(): () => number[] {
  const turns: number[] = [];
  let before = cpuMs();
  const turn = (): void => {
    const now = cpuMs();
    if (now - before > 5) turns.push(now - before);
    before = cpuMs();
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  return () => {
    clearImmediate(next);
    return turns.sort((a, b) => b - a);
  };
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
