/** A job as use cases return it, and the keys of jobs and attempts. */
import { DomainError } from '../settings/errors.ts';
import type { JobState } from './job-state.ts';

/** Identifies a job. */
export interface JobKey {
  endpointId: string;
  jobId: string;
}

/** Identifies an attempt. The number is the fencing token. */
export interface AttemptKey extends JobKey {
  attempt: number;
}

/** An attempt with the machine that it was assigned to. Reports of any other machine about it are ignored. */
export interface MachineAttempt extends AttemptKey {
  machineId: string;
}

/** A job as it was read. */
export interface Job {
  id: string;
  endpointId: string;
  state: JobState;
  /**
   * The handler's JSON text, or the latest progress value while IN_PROGRESS. `undefined` if there is none or it was
   * not requested.
   */
  output: Buffer | undefined;
  /** Why the job FAILED or TIMED_OUT. */
  error: string | undefined;
  /** Number of the latest attempt, 0 before the first. */
  attempt: number;
  /** Number of requeues after a loss. */
  retries: number;
  workerId: string | undefined;
  /** Time in milliseconds since 1970, by the database clock. */
  submittedAtMs: number;
  finishedAtMs: number | undefined;
  /**
   * Milliseconds from submission to the start of the latest attempt, an integer (docs/reference/api.md#job-record).
   * `undefined` before the first.
   */
  delayMs: number | undefined;
  /**
   * Milliseconds from the start of the latest attempt to its end, an integer. `undefined` until the state is final, and
   * for a job that never started.
   */
  executionMs: number | undefined;
  /** The caller's pairs, where they were read. */
  metadata?: Readonly<Record<string, string>> | undefined;
}

/** Returns the error for a job that does not exist, whatever the reason. */
export function jobNotFound(jobId: string): DomainError {
  const name = JSON.stringify(jobId.slice(0, 64));
  return new DomainError(
    'JOB_NOT_FOUND',
    `There is no job ${name} on this endpoint: it was never submitted, was purged or has expired.`,
  );
}

/** Compares jobs in the order in which statements that change several jobs lock them, so that no two ever deadlock. */
export function byJob(a: JobKey, b: JobKey): number {
  return compare(a.endpointId, b.endpointId) || compare(a.jobId, b.jobId);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
