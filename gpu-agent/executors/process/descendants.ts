/**
 * What a process has started, by the links from parents to children. Where there are no control groups: a link is lost
 * with its parent, so that they are followed before a unit is asked to end.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** Processes of one tree that are followed: more than a unit has. */
const FOLLOWED_MAX = 10_000;

/** By process id: when it began, in the kernel's ticks. Another process with the same id began later. */
export type Descendants = Map<number, string>;

/** Returns all that a process has started and that has a living parent. Reads a file of each. */
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

/** Returns those of them that still are, and what these have started since. */
export function stillThere(known: Descendants): Descendants {
  const found: Descendants = new Map();
  for (const [pid, began] of known) {
    if (beganAt(pid) !== began) continue;
    found.set(pid, began);
    for (const [below, itsBegan] of descendantsOf(pid)) found.set(below, itsBegan);
  }
  return found;
}

/** Each of its threads has those that it started. */
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

/** Undefined: it is gone, or only its exit code is left. */
function beganAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
