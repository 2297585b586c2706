/** A worker as the pool of slots counts it. */
import type { MachineAttempt } from '../domain/job.ts';
import type { ClaimedJob, AssignedJob, Slot } from '../jobs/slots.ts';

/** Where a worker's assignments go. */
export interface AssignmentSink {
  /** Sends committed claims. */
  assign(jobs: readonly ClaimedJob[]): void;
}

/** An attempt that a worker was given. */
export interface HeldAttempt extends MachineAttempt {
  workerId: string;
}

/** A worker in the pool. */
export interface WorkerSlots {
  readonly slot: Slot;
  sink: AssignmentSink | undefined;
  capacity: number;
  /** May get new attempts. */
  open: boolean;
  /** Its worker is to run: neither frozen nor going. */
  shouldRun: boolean;
  /** Its open take may be answered with more than it asked for. */
  acceptsPrefetch: boolean;
  /** Its agent keeps more than it has room for. */
  agentPrefetches: boolean;
  /** How much that was when some was given last; with less than half of it left it is given more. */
  prefetchedAtRefill: number;
  /** The job that it was given last. */
  last: AssignedJob | undefined;
  /** Its worker has ended: it goes with its last attempt. */
  retired: boolean;
  readonly held: Map<string, HeldAttempt>;
  /** Slots that are out for a claim. They outlive a session, so that its successor does not count them as free. */
  reserved: number;
  /** Its number among all workers of this pool: of two that have the same to do the lower one is given a job first. */
  readonly rank: number;
}

/** One that was just attached. */
export function newWorkerSlots(slot: Slot, sink: AssignmentSink, rank: number): WorkerSlots {
  const flags = { open: false, shouldRun: true, acceptsPrefetch: false, agentPrefetches: false, retired: false };
  return { slot, sink, rank, capacity: 0, held: new Map(), reserved: 0, prefetchedAtRefill: 0, last: undefined, ...flags };
}

/** How many attempts it can be given. */
export function freeSlots(place: WorkerSlots): number {
  return place.open ? -prefetchedBy(place) : 0;
}

/** What is given to it beyond what it can hold. */
export function prefetchedBy({ capacity, held, reserved }: WorkerSlots): number {
  return held.size + reserved - capacity;
}
