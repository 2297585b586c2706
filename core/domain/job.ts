/** A job as the use cases hand it out. */
import type { JobState } from './job-state.ts';

/** See the file's first line. */
export interface Job {
  id: string;
  endpointId: string;
  state: JobState;
  /** The handler's JSON text, or the latest progress value while IN_PROGRESS. Undefined: none, or not asked for. */
  output: Buffer | undefined;
  /** Why it FAILED or TIMED_OUT. */
  error: string | undefined;
  /** Number of the latest attempt, 0 before the first. */
  attempt: number;
  /** Times it was put back into the queue after a loss. */
  retries: number;
  workerId: string | undefined;
  /** Milliseconds since 1970 by the database clock. */
  submittedAtMs: number;
  startedAtMs: number | undefined;
  finishedAtMs: number | undefined;
}

/** Whole milliseconds from submission to the start of the latest attempt (compat.md 1.6). */
export function delayMs(job: Job): number | undefined {
  return job.startedAtMs === undefined ? undefined : span(job.submittedAtMs, job.startedAtMs);
}

/** Whole milliseconds from the start of the latest attempt to the end; undefined until final, and for a job that never started. */
export function executionMs(job: Job): number | undefined {
  return job.startedAtMs === undefined || job.finishedAtMs === undefined ? undefined : span(job.startedAtMs, job.finishedAtMs);
}

// Never negative, even when the database's clock was set back.
function span(from: number, to: number): number {
  return Math.max(0, Math.round(to - from));
}
