/** Metrics port of the job engine. Calls are made once per batch, in memory, and never block. */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import type { BudgetMeter } from '@slipway/kit/observe/budget-metrics';
import type { Job } from '../domain/jobs/job.ts';

/** An outcome that changed its job. */
export interface RecordedJob {
  /** The job as stored: in a final state, or back in the queue. */
  job: Job;
}

export interface EngineMeter {
  /** Metrics of the engine's batchers. */
  readonly batches: BatchMeter;
  /** Metrics of the engine's memory budgets. */
  readonly budgets: BudgetMeter;
  /** Counts stored submissions. */
  submitted(jobs: readonly { endpointId: string }[]): void;
  /** Counts the jobs of one claim. `tookMs` includes the wait for a database connection. */
  claimed(jobs: number, tookMs: number): void;
  /** Counts outcomes. `changed`: outcomes that changed their jobs; the others came too late. */
  recorded(outcomes: number, changed: readonly RecordedJob[]): void;
  /** Counts a job whose worker ran out of memory. */
  ranOutOfMemory(endpointId: string): void;
  /** Counts a failed outcome statement. It is retried, or each outcome is recorded by itself. */
  outcomesFailed(): void;
  /** Counts attempts taken back from machines whose lease expired. */
  rescued(attempts: number): void;
  /** Counts a webhook call and whether its receiver accepted it. */
  webhookTried(taken: boolean, tookMs: number): void;
}
