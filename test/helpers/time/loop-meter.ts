/**
 * Measures how long the event loop of this thread is kept busy: the processor time of the thread from one turn of the
 * loop to the next, so that other processes on a busy machine do not count, and neither do other threads.
 */

/** Starts measuring; the answer ends it and tells the longest turns in milliseconds, the longest first. */
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
