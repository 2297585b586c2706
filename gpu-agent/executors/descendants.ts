/**
 * Finds the processes that a process has started, by the links from parents to children. Used where there are no
 * control groups. A link is lost when the parent ends, so the links are followed before a workload is asked to end.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Most processes of one tree that are followed: more than a workload has. */
const FOLLOWED_MAX = 10_000;

/** Start time by process id, in the kernel's ticks. Another process with the same id has a later start time. */
export type Descendants = Map<number, string>;

/** Returns all processes that a process has started and that have a living parent. Reads a file of each. */
export function descendantsOf(pid: number): Descendants {
  const found: Descendants = new Map();
  const open = [pid];
  while (open.length > 0 && found.size < FOLLOWED_MAX) {
    for (const child of childrenOf(open.pop()!)) {
      const began = beganAt(child);
      if (began === undefined || found.has(child)) continue;
      found.set(child, began);
      open.push(child);
    }
  }
  return found;
}

/** Returns the known processes that still exist, and all processes that they have started since. */
export function stillThere(known: Descendants): Descendants {
  const found: Descendants = new Map();
  for (const [pid, began] of known) {
    if (beganAt(pid) !== began) continue;
    found.set(pid, began);
    for (const [below, itsBegan] of descendantsOf(pid)) found.set(below, itsBegan);
  }
  return found;
}

/** Each thread of a process lists the children that it started. */
function childrenOf(pid: number): number[] {
  try {
    const texts = readdirSync(`/proc/${pid}/task`).map((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'),
    );
    return texts
      .join(' ')
      .split(' ')
      .map(Number)
      .filter((child) => child > 0);
  } catch {
    return [];
  }
}

/** Returns the start time. `undefined` if the process is gone, or only its exit code is left. */
function beganAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
