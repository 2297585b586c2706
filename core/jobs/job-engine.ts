/** Interface of the job engine: the calls of dispatch, the calls of the rpc handlers, and the services to start. */

import type { SlicedWork } from '@slipway/kit/bytes/sliced-work';
import type { Service } from '@slipway/kit/lifecycle/service';
import type { AttemptKey, Job, JobKey, MachineAttempt } from '../domain/jobs/job.ts';
import type { DeletedJobs } from '../store/jobs/deletion-rows.ts';
import type { StoredJob } from '../store/jobs/inserted-rows.ts';
import type { JobListPage, JobListRequest } from '../store/jobs/job-list.ts';
import type { FoundJobs } from '../store/reports/job-search-store.ts';
import type { WebhookCallRecord } from '../store/webhooks/webhook-result-store.ts';
import type { ChangeRequest, ChangeResult } from './change/change-jobs.ts';
import type { ChunkCursor, ChunkPage } from './read/chunk-page.ts';
import type { EndpointHealth } from './read/endpoint-health.ts';
import type { ErrorsRequest, FoundErrors } from './read/job-errors.ts';
import type { AcquireMemory, GetOptions } from './read/read-job.ts';
import type { SearchRequest } from './read/search-jobs.ts';
import type { WaitStopper } from './read/wait-stopper.ts';
import type { AttemptChunk, AttemptOutcome } from './record/attempt-report.ts';
import type { AssignedJob, ClaimedJob, Slot } from './slots.ts';
import type { PreparedJob } from './submit/prepare-job.ts';
import type { Submission } from './submit/submission.ts';

/** Calls of the public API. All throw DomainError. The caller is authorized already. */
export interface JobCalls {
  /** Submits a job. Resolves after the commit. */
  submit(submission: Submission): Promise<Job>;
  /**
   * Submits a job and waits up to `submission.waitMs` for its end. The stopper ends the wait, not the job. `onStored`
   * receives the stored job: queued, or already claimed for a worker.
   */
  submitAndWait(submission: Submission, stopper: WaitStopper, onStored?: (job: Job) => void): Promise<Job>;
  /** Returns a job. `acquireMemory` is awaited before a large output is read. */
  get(key: JobKey, options: GetOptions): Promise<Job>;
  /** Returns the submitted input. */
  input(key: JobKey): Promise<Buffer>;
  wait(key: JobKey, waitMs: number, stopper: WaitStopper, acquireMemory?: AcquireMemory): Promise<Job>;
  /** Returns a page of chunks. `acquireMemory` is awaited before a large page is read. */
  readChunks(
    key: JobKey,
    options: { cursor: ChunkCursor | undefined; waitMs: number; limit: number },
    stopper: WaitStopper,
    acquireMemory?: AcquireMemory,
  ): Promise<ChunkPage>;
  cancel(key: JobKey): Promise<Job>;
  retry(key: JobKey): Promise<Job>;
  /** Cancels or retries the next batch of the jobs that a filter matches. */
  change(request: ChangeRequest): Promise<ChangeResult>;
  /** Deletes the queued jobs. Returns their number. */
  purge(endpointId: string): Promise<number>;
  list(endpointId: string, page: JobListRequest): Promise<JobListPage>;
  /** Returns a page of the jobs of an account. */
  search(request: SearchRequest): Promise<FoundJobs>;
  /** Returns the recent errors in groups. */
  errors(endpointId: string, request: ErrorsRequest): Promise<FoundErrors>;
  health(endpointId: string): Promise<EndpointHealth>;
  /** Returns the webhook calls of a job that match the filters, newest first. */
  webhooks(key: JobKey, filters?: Readonly<Record<string, string>>): Promise<WebhookCallRecord[]>;
  /** Orders the newest webhook call again. */
  redriveWebhook(key: JobKey): Promise<WebhookCallRecord>;
}

/** Calls of dispatch. */
export interface AttemptCalls {
  /**
   * Returns false if the queue of an endpoint with free slots seems empty, so that there is nothing to reserve slots
   * for: after every job of an idle queue, all of them would be reserved and returned.
   */
  mayClaim(endpointId: string): boolean;
  /**
   * Claims up to one job per slot, all of one endpoint. Resolves after the commit. The caller keeps slots that got no
   * job and must unreserve them. Cheap when this replica knows of no queued job: the database is then asked only from
   * time to time, so call it often.
   */
  claim(endpointId: string, slots: readonly Slot[]): Promise<ClaimedJob[]>;
  /**
   * Prefetches jobs behind `claimed`, one per slot. Takes only jobs that have the policy of all of these, and that
   * have waited long enough for any idle worker to get them.
   */
  claimPrefetch(endpointId: string, slots: readonly Slot[], claimed: readonly AssignedJob[]): Promise<ClaimedJob[]>;
  /**
   * Restarts the execution timeout of prefetched attempts that have not begun. Attempts that are not current stay as
   * they are.
   */
  postpone(attempts: readonly MachineAttempt[]): Promise<void>;
  /**
   * Returns the workers whose prefetched jobs another worker could begin: one is idle, or the endpoint may have one
   * more.
   */
  replaceable(workers: readonly { endpointId: string; workerId: string }[]): Promise<string[]>;
  /**
   * Records an outcome. Resolves after the commit. Chunks of the attempt that were appended before are stored first.
   * An output that is not JSON makes the job FAILED. Returns 'stale' if nothing changed: another outcome came first,
   * or the attempt is not that machine's.
   */
  recordOutcome(outcome: AttemptOutcome): Promise<'recorded' | 'stale'>;
  /**
   * Appends chunks of one endpoint from one machine, in order. Resolves after the commit. Chunks of an attempt that
   * is not current or not that machine's are dropped. Returns the chunks that are not JSON: their jobs are FAILED,
   * and what follows them is dropped.
   */
  appendChunks(chunks: readonly AttemptChunk[]): Promise<AttemptChunk[]>;
  /**
   * Stores a progress value; only the latest counts. Lossy and bounded by design: a value that is not JSON is dropped
   * too.
   */
  recordProgress(key: MachineAttempt, output: Buffer): void;
  /**
   * Records as LOST all attempts of a machine, or of one worker, that are not in `held`. Resolves after the commit
   * with their number. Used for a Hello (`held` is what the agent lists), a dead worker, or a machine that left.
   */
  loseAttempts(
    holder: { machineId: string; workerId?: string },
    held: readonly AttemptKey[],
    cause: string,
  ): Promise<number>;
  /** Returns the input of a current attempt of that machine; `undefined` if it is not current any more. */
  readInput(key: MachineAttempt): Promise<Buffer | undefined>;
  /** Returns whether an attempt is current and belongs to that machine. */
  isCurrent(key: MachineAttempt): Promise<boolean>;
  /** Returns the decrypted S3Config message of a claimed job; `undefined` if there is none. */
  openS3Config(job: ClaimedJob): Buffer | undefined;
}

/** Calls of batches, which store the rows of their jobs themselves. */
export interface BatchJobCalls extends Pick<JobCalls, 'get' | 'cancel' | 'readChunks'> {
  /** Validates a job, and checks that its queue has capacity. Stores nothing. */
  prepare(submission: Submission): Promise<PreparedJob>;
  /** Announces jobs that were stored outside of the engine. */
  announce(stored: readonly StoredJob[], jobs: readonly PreparedJob[]): void;
  /** Announces queued jobs that were deleted outside of the engine. */
  withdrawn(deleted: readonly DeletedJobs[]): void;
}

/** The job engine. */
export interface JobEngine {
  calls: JobCalls;
  batchCalls: BatchJobCalls;
  /** Work on texts of users, fair by account. */
  checks: SlicedWork;
  attempts: AttemptCalls;
  /** Deletes all jobs of an endpoint that is being deleted. Returns their number. */
  deleteJobs(endpointId: string): Promise<number>;
  /** Loops and the notifier, in start order. */
  services: Service[];
}
