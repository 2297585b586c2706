/**
 * Port from the job use cases to dispatch: free slots on workers whose sessions this replica holds. Implemented by
 * core/dispatch.
 */
import type { ClaimedRow } from '../store/jobs/claim-store.ts';

/** Capacity for one attempt on one worker. */
export interface Slot {
  endpointId: string;
  workerId: string;
  machineId: string;
  /** The worker's fence when this slot was reserved; see `ClaimedJob.fence`. */
  fence?: number;
}

/** A job whose claim is committed. */
export interface ClaimedJob extends ClaimedRow {
  /** True if the job exceeds what its worker asked for. Default: false. */
  prefetched?: boolean;
  /**
   * The fence of its slot. If the worker's is higher by now, the attempt may have been given to others while the claim
   * was in flight, and it must not be sent. Absent: it is always sent.
   */
  fence?: number | undefined;
}

/**
 * The part of an assigned job that decides what is prefetched next. Must not contain the input, which would stay in
 * memory for each idle worker.
 */
export type AssignedJob = Pick<ClaimedJob, 'jobId' | 'inputSize'>;

/** The pool of free slots on this replica. */
export interface SlotSource {
  /** Reserves up to `count` free slots of an endpoint, so that no other claim uses them. Never waits. */
  reserve(endpointId: string, count: number): Slot[];
  /** Returns reserved slots that were not used. */
  unreserve(slots: readonly Slot[]): void;
  /**
   * Sends committed claims to their workers. The slots stay in use until the attempts end. A claim goes back to the
   * queue if its session or its machine's lease has ended, or if its worker was fenced since.
   */
  assign(jobs: readonly ClaimedJob[]): void;
}
