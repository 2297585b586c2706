/** What the job use cases need of dispatch: room on workers whose sessions this replica holds. Implemented by core/dispatch. */
import type { ClaimedRow } from '../store/claim-store.ts';

/** Room for one attempt on one worker. */
export interface Slot {
  endpointId: string;
  workerId: string;
  machineId: string;
}

/** A job whose claim is committed. */
export interface ClaimedJob extends ClaimedRow {
  /** Beyond what its worker asked for. */
  prefetched?: boolean;
}

/** A job that a worker was given, as far as what goes to it next depends on it. Never its input: that would stay in memory for each idle worker. */
export type AssignedJob = Pick<ClaimedJob, 'jobId' | 'inputSize'>;

/** The pool of free slots on this replica. */
export interface SlotSource {
  /** Takes up to `count` free slots of an endpoint out of the pool, so that nobody else claims for them. Never waits. */
  reserve(endpointId: string, count: number): Slot[];
  /** Gives back slots that were not used. */
  unreserve(slots: readonly Slot[]): void;
  /** Sends committed claims to their workers; the slots are used until the attempts end. A claim whose session has gone is put back by its loss. */
  assign(jobs: readonly ClaimedJob[]): void;
}
