/** Budget of a machine for offloaded workers, and whom it evicts when it is full. Pure. */

/** Budget of a machine. Logged with decisions: member names are persisted. */
export interface StandbyBudget {
  limitBytes: number;
  /** Used by offloaded workers, and by workers that are being offloaded. */
  usedBytes: number;
}

/** An offloaded worker that may be evicted. */
export interface OffloadedWorker {
  workerId: string;
  bytes: number;
  /** Milliseconds since it was offloaded. */
  offloadedMs: number;
}

/** A machine's budget for offloaded workers, and the workers that may be evicted. Logged with decisions. */
export interface OffloadBudget extends StandbyBudget {
  offloaded: readonly OffloadedWorker[];
}

/**
 * Returns the offloaded workers to evict so that a worker with so many bytes fits: the longest offloaded first, no more
 * than needed. `undefined` if it does not fit even without them. `bytes`: 0 is unknown, and fits while anything is
 * free.
 */
export function evictedForBudget(
  { limitBytes, usedBytes }: StandbyBudget,
  offloaded: readonly OffloadedWorker[],
  bytes: number,
): string[] | undefined {
  const needed = Math.max(bytes, 1);
  const evicted: string[] = [];
  let free = limitBytes - usedBytes;
  for (const { workerId, bytes: freed } of offloaded.toSorted(longestFirst)) {
    if (free >= needed) break;
    evicted.push(workerId);
    free += freed;
  }
  return free >= needed ? evicted : undefined;
}

/** Returns a budget after a worker was offloaded and others were evicted for it. The new one is not evicted. */
export function budgetAfter(
  { limitBytes, usedBytes, offloaded }: OffloadBudget,
  bytes: number,
  evicted: readonly string[],
): OffloadBudget {
  const gone = offloaded.filter(({ workerId }) => evicted.includes(workerId));
  const freedBytes = gone.reduce((sum, one) => sum + one.bytes, 0);
  return {
    limitBytes,
    usedBytes: usedBytes + bytes - freedBytes,
    offloaded: offloaded.filter(({ workerId }) => !evicted.includes(workerId)),
  };
}

function longestFirst(a: OffloadedWorker, b: OffloadedWorker): number {
  return b.offloadedMs - a.offloadedMs || (a.workerId < b.workerId ? -1 : 1);
}
