/** Reads the resource usage of processes from /proc. On other systems than Linux everything reads as 0. */
import { readdirSync, readFileSync } from 'node:fs';

/** Microseconds per tick. The kernel counts CPU time in ticks of 10 ms on every Linux that Node runs on. */
const MICROSECONDS_PER_TICK = 10_000;

/** Returns the CPU time of a process, of its ended children and of its running children, in microseconds. */
export function cpuUs(pid: number): number {
  const own = stat(pid);
  if (!own) return 0;
  let ticks = own.ticks + own.endedChildrenTicks;
  for (const child of childrenOf(pid)) ticks += stat(child)?.ticks ?? 0;
  return ticks * MICROSECONDS_PER_TICK;
}

/**
 * Returns the CPU time of a process's running threads in microseconds, measured in nanoseconds. For half a second of
 * work the ticks above are off by several hundredths. Where the kernel does not count this time, returns the same as
 * `cpuUs`.
 */
export function threadsUs(pid: number): number {
  const counts = namesIn(`/proc/${pid}/task`).map((thread) =>
    Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]),
  );
  const nanoseconds = counts.reduce((sum, count) => sum + count, 0);
  return nanoseconds === 0 ? cpuUs(pid) : nanoseconds / 1_000;
}

/** Returns the memory of a process in MiB: its current size and its peak. */
export function memoryMib(pid: number): { now: number; peak: number } {
  const status = read(`/proc/${pid}/status`);
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

function stat(pid: number): { ticks: number; endedChildrenTicks: number } | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // The fields follow the name, which may contain spaces. By proc(5), state is field 3, utime 14, stime 15, cutime 16,
  // cstime 17.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  return { ticks: fields[11]! + fields[12]!, endedChildrenTicks: fields[13]! + fields[14]! };
}

function childrenOf(pid: number): number[] {
  return namesIn(`/proc/${pid}/task`).flatMap((task) =>
    read(`/proc/${pid}/task/${task}/children`).split(' ').filter(Boolean).map(Number),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
