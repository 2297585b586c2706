/** What the job engine tells whoever counts what it does: a batch at a time, in memory, and nothing waits for it. */
import type { Job } from '../domain/job.ts';
import type { BatchMeter } from '../runtime/batcher.ts';
import type { BudgetMeter } from '../runtime/budget-metrics.ts';

/** An outcome that changed its job. */
export interface RecordedJob {
  /** As stored: in a final state, or back in the queue. */
  job: Job;
}

export interface EngineMeter {
  /** Fill of the engine's batches. */
  readonly batches: BatchMeter;
  /** Fill of its bounds of memory. */
  readonly budgets: BudgetMeter;
  /** These jobs were stored. */
  submitted(jobs: readonly { endpointId: string }[]): void;
  /** So many jobs were claimed by one statement, which took so long, waiting for the database included. */
  claimed(jobs: number, tookMs: number): void;
  /** Of so many outcomes these changed their jobs; the others came too late. */
  recorded(outcomes: number, changed: readonly RecordedJob[]): void;
  /** A job has failed because its worker ran out of memory by it. */
  ranOutOfMemory(endpointId: string): void;
  /** A statement with outcomes failed; it is said again, or each of them by itself. */
  outcomesFailed(): void;
  /** So many attempts were taken back from machines whose lease had ended. */
  rescued(attempts: number): void;
  /** A webhook call was tried, and whether its receiver took it. */
  webhookTried(taken: boolean, tookMs: number): void;
}
