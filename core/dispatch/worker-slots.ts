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
  /** Slots reserved by claims in flight. They outlive a session, so that its successor does not count them as free. */
  reserved: number;
  /** Its number among all workers of this pool: of two that have the same to do the lower one is given a job first. */
  readonly rank: number;
}

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
  return worker.open && worker.sink?.holdsLease ? -prefetchedBy(worker) : 0;
}

/** Returns how many jobs it holds beyond its capacity. */
export function prefetchedBy({ capacity, held, reserved }: WorkerSlots): number {
  return held.size + reserved - capacity;
}
