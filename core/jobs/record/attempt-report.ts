/** Results of an attempt, as its agent reports them. */

import type { OutcomeKind } from '../../domain/jobs/attempt-outcome.ts';
import type { MachineAttempt } from '../../domain/jobs/job.ts';

/** The end of an attempt, as its agent reports it. */
export interface AttemptOutcome extends MachineAttempt {
  kind: OutcomeKind;
  output: Buffer | undefined;
  /** For FAILED, LOST and STOPPED. */
  error: string;
  /** Execution time in milliseconds; `undefined` counts from the claim. */
  executionMs?: number;
  /** For LOST: the worker ran out of memory. */
  outOfMemory?: boolean;
}

/** One streamed piece of an attempt's output. */
export interface AttemptChunk extends MachineAttempt {
  /** From 1 within the attempt. */
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** Records an outcome, as AttemptCalls.recordOutcome does. */
export type RecordOutcome = (outcome: AttemptOutcome) => Promise<'recorded' | 'stale'>;
