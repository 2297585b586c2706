/**
 * Finds the processes that a process has started, by the links from parents to children. Used where there are no
 * control groups. A link is lost when the parent ends, so the links are followed before a workload is asked to end.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Clock } from '@slipway/kit/time/clock';
import { isOutOfDescriptors, readAgain } from './descriptors.ts';

/** Most processes of one tree that are followed: more than a workload has. */
const FOLLOWED_MAX = 10_000;

/** Start time by process id, in the kernel's ticks. Another process with the same id has a later start time. */
export type Descendants = Map<number, string>;

/**
 * Files of /proc that are read before other events get their turn. A worker with PyTorch has a hundred threads, each
 * with a file, and many workers may be moved at a time.
 */
const READS_AT_ONCE = 32;

/** The last walk that was asked for. Walks take turns, so that together they read no more at once than one. */
let lastWalk: Promise<unknown> = Promise.resolve();

/** Result of a walk that is not repeated. */
interface Walk {
  found: Descendants;
  /** False: the agent had no free file descriptor, and more processes may exist. */
  isWhole: boolean;
}

/**
 * Returns all processes that a process has started and that have a living parent. Reads a few files at a time. Never
 * returns a part of them: without a free file descriptor it tries again for 2 s and then rejects.
 */
export function descendantsOf(pid: number, clock: Pick<Clock, 'soon' | 'after'>): Promise<Descendants> {
  return readAgain(clock, () => {
    const walk = lastWalk.then(() => walkInTurns(pid, clock));
    lastWalk = walk.catch(() => undefined);
    return walk;
  });
}

/** Returns the same, at once: for a workload that is about to end. Reads a file of each thread. */
export function descendantsNow(pid: number): Walk {
  return walkNow((found) => {
    for (const _ of walkOf(pid, found));
  });
}

function walkNow(walk: (found: Descendants) => void): Walk {
  const found: Descendants = new Map();
  try {
    walk(found);
    return { found, isWhole: true };
  } catch (error) {
    if (!isOutOfDescriptors(error)) throw error;
    return { found, isWhole: false };
  }
}

async function walkInTurns(pid: number, clock: Pick<Clock, 'soon'>): Promise<Descendants> {
  const found: Descendants = new Map();
  let reads = 0;
  for (const _ of walkOf(pid, found)) {
    reads += 1;
    if (reads % READS_AT_ONCE === 0) await new Promise<void>((resolve) => clock.soon(resolve));
  }
  return found;
}

/**
 * Adds all descendants of a process to `found`. Yields after each file that it has read. Throws if the agent has no
 * free file descriptor.
 */
function* walkOf(pid: number, found: Descendants): Generator<undefined, void, undefined> {
  const open = [pid];
  while (open.length > 0 && found.size < FOLLOWED_MAX) {
    for (const child of yield* childrenOf(open.pop()!)) {
      const began = beganAt(child);
      yield;
      if (began === undefined || found.has(child)) continue;
      found.set(child, began);
      open.push(child);
    }
  }
}

/** Returns the known processes that still exist, and all processes that they have started since. */
export function stillThere(known: Descendants): Walk {
  return walkNow((found) => {
    for (const [pid, began] of known) {
      if (found.has(pid) || beganAt(pid) !== began) continue;
      found.set(pid, began);
      // A descendant that is known is not followed again: a chain of 1,000 would take a million reads.
      for (const _ of walkOf(pid, found));
    }
  });
}

/** Returns the children of a process. Each of its threads lists the children that it started. */
function* childrenOf(pid: number): Generator<undefined, number[], undefined> {
  const children: number[] = [];
  for (const thread of threadsOf(pid)) {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
      children.push(...text.split(' ').map(Number));
    } catch (error) {
      if (isOutOfDescriptors(error)) throw error;
      // The thread has ended, and its children belong to another one, which may be listed already.
    }
    yield;
  }
  return children.filter((child) => child > 0);
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return [];
  }
}

/** Returns the start time. `undefined` if the process is gone, or only its exit code is left. */
function beganAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch (error) {
    if (isOutOfDescriptors(error)) throw error;
    return undefined;
  }
}
