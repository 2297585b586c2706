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
}

/** A job whose claim is committed. */
export interface ClaimedJob extends ClaimedRow {
  /** True if the job exceeds what its worker asked for. Default: false. */
  prefetched?: boolean;
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
   * Sends committed claims to their workers. The slots stay in use until the attempts end. A claim whose session is
   * gone is recorded as lost and queued again.
   */
  assign(jobs: readonly ClaimedJob[]): void;
}
