/** A worker's slots as the pool counts them. */
import type { MachineAttempt } from '../domain/jobs/job.ts';
import type { LiveAttempt } from '../jobs/live-jobs.ts';
import type { AssignedJob, ClaimedJob, Slot } from '../jobs/slots.ts';

/** Receives a worker's assignments. */
export interface AssignmentSink {
  /** True while the machine's lease is certain. Without it, others may get the attempts of the machine. */
  readonly holdsLease: boolean;
  /** Sends committed claims. */
  assign(jobs: readonly ClaimedJob[]): void;
}

/** An attempt assigned to a worker. */
export interface HeldAttempt extends MachineAttempt {
  workerId: string;
}

/** A worker in the pool. */
export interface WorkerSlots {
  /** Token that reservations get. Each fence replaces it. */
  slot: Slot & { fence: number };
  sink: AssignmentSink | undefined;
  capacity: number;
  /** True if it may get new attempts. */
  open: boolean;
  /** True if the worker should run: neither on standby nor stopping. */
  shouldRun: boolean;
  /** True if its open take accepts more jobs than it asked for. */
  acceptsPrefetch: boolean;
  /** True if its agent holds more jobs than its capacity. */
  agentPrefetches: boolean;
  /** Prefetched jobs at the last refill; below half of it the worker is refilled. */
  prefetchedAtRefill: number;
  /** The job assigned last. */
  last: AssignedJob | undefined;
  /** True if its worker has ended. It is then removed with its last attempt. */
  retired: boolean;
  readonly held: Set<LiveAttempt>;
  /** Attempts that have ended and whose outcomes are not recorded yet. Early runs do not count. */
  unrecorded: number;
  /** Slots reserved by claims in flight. They outlive a session, so that its successor does not count them as free. */
  reserved: number;
  /** Its number among all workers of this pool: of two that have the same to do the lower one is given a job first. */
  readonly rank: number;
}

/**
 * Outcomes of a worker that may wait to be recorded while jobs are claimed for it. Claims and outcomes share the
 * database: without this bound, workers of short jobs end them faster than they are recorded, and an outcome of another
 * endpoint waits behind ten thousand. A worker with more slots may have as many: they may all end at once.
 */
export const UNRECORDED_MAX = 300;

/** Returns a worker that was just attached. */
export function newWorkerSlots(slot: Slot, sink: AssignmentSink, rank: number): WorkerSlots {
  const flags = { open: false, shouldRun: true, acceptsPrefetch: false, agentPrefetches: false, retired: false };
  return {
    slot: { ...slot, fence: 0 },
    sink,
    rank,
    capacity: 0,
    held: new Set(),
    reserved: 0,
    unrecorded: 0,
    prefetchedAtRefill: 0,
    last: undefined,
    ...flags,
  };
}

/** Returns the key of an attempt. It contains the machine: a report of another machine must never match. */
export function attemptId(key: MachineAttempt): string {
  return `${key.machineId}/${key.endpointId}/${key.jobId}/${key.attempt}`;
}

/** Returns where to send a claim; `undefined` if its attempt may have been given to others since it was claimed. */
export function sinkFor({ fence }: ClaimedJob, { sink, slot }: WorkerSlots): AssignmentSink | undefined {
  const isFenced = fence !== undefined && fence < slot.fence;
  return sink?.holdsLease && !isFenced ? sink : undefined;
}

/** Returns how many attempts it can take. */
export function freeSlots(worker: WorkerSlots): number {
  return mayClaim(worker) ? -prefetchedBy(worker) : 0;
}

/** Returns whether too many of its outcomes are not recorded yet. */
export function hasBacklog({ unrecorded, capacity }: WorkerSlots): boolean {
  return unrecorded > Math.max(UNRECORDED_MAX, capacity);
}

/** Returns whether its agent holds so few prefetched jobs that it should get more. */
export function needsRefill(worker: WorkerSlots): boolean {
  return mayClaim(worker) && worker.agentPrefetches && prefetchedBy(worker) < worker.prefetchedAtRefill / 2;
}

/**
 * Begins a refill. Returns how many jobs may be prefetched for it. `asked`: slots that it asked for. A worker whose
 * agent prefetches asks for its full capacity. `limitOf`: most jobs for so many slots.
 */
export function beginRefill(worker: WorkerSlots, asked: number, limitOf: (slots: number) => number): number {
  if (!mayClaim(worker)) return 0;
  // The agent may have stopped prefetching since. Then the worker gets only as many as it asks for.
  if (!worker.agentPrefetches) return worker.acceptsPrefetch ? limitOf(asked) : 0;
  const prefetched = Math.max(prefetchedBy(worker), 0);
  worker.prefetchedAtRefill = prefetched;
  return limitOf(worker.capacity) - prefetched;
}

/** Returns how many jobs it holds beyond its capacity. */
export function prefetchedBy({ capacity, held, reserved }: WorkerSlots): number {
  return held.size + reserved - capacity;
}

/** Returns whether jobs may be claimed for it, if it has room for them. */
function mayClaim(worker: WorkerSlots): boolean {
  return worker.open && !hasBacklog(worker) && worker.sink?.holdsLease === true;
}
