/** What processes use, from /proc. Elsewhere than on Linux everything reads as 0. */
import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts CPU time in ticks of 10 ms on every Linux that Node runs on. */
const MICROSECONDS_PER_TICK = 10_000;

/** CPU time of a process, of its children that ended and of those that run, in microseconds. */
export function cpuUs(pid: number): number {
  const own = stat(pid);
  if (!own) return 0;
  let ticks = own.ticks + own.endedChildrenTicks;
  for (const child of childrenOf(pid)) ticks += stat(child)?.ticks ?? 0;
  return ticks * MICROSECONDS_PER_TICK;
}

/**
 * CPU time of a process's threads that run, in microseconds, to the nanosecond: of half a second of work the ticks
 * above are off by several hundredths. Without the kernel's counts of it as `cpuUs`.
 */
export function threadsUs(pid: number): number {
  const counts = namesIn(`/proc/${pid}/task`).map((thread) =>
    Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]),
  );
  const nanoseconds = counts.reduce((sum, count) => sum + count, 0);
  return nanoseconds === 0 ? cpuUs(pid) : nanoseconds / 1_000;
}

/** Memory of a process in MiB: now, and the most it ever had. */
export function memoryMib(pid: number): { now: number; peak: number } {
  const status = read(`/proc/${pid}/status`);
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

function stat(pid: number): { ticks: number; endedChildrenTicks: number } | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === '') return undefined;
  // After the name, which may hold blanks: state is field 3 of proc(5), utime 14, stime 15, cutime 16, cstime 17.
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
