/** The job engine as the rest of core sees it: what dispatch calls, what the rpc handlers call, and the services to start. */
import type { AttemptKey, Job, JobKey, MachineAttempt } from '../domain/job.ts';
import type { OutcomeKind } from '../domain/attempt-outcome.ts';
import type { JobState } from '../domain/job-state.ts';
import type { PlacementRefusal } from '../domain/placement-refusal.ts';
import type { PolicyRequest } from '../domain/job-policy.ts';
import type { SubmitKind } from '../domain/retention.ts';
import type { Service } from '../runtime/service.ts';
import type { JobListPage, JobListRequest } from '../store/job-list.ts';
import type { WebhookCallRecord } from '../store/webhook-result-store.ts';
import type { ChangeRequest, JobsChanged } from './change-jobs.ts';
import type { ErrorsRequest, FoundErrors } from './job-errors.ts';
import type { ClaimedJob, AssignedJob, Slot } from './slots.ts';

/** A job to accept. */
export interface Submission {
  endpointId: string;
  /** A UUID, or empty for one of ours. */
  requestId: string;
  kind: SubmitKind;
  /** JSON text. */
  input: Buffer;
  /** Empty: none. */
  webhook: string;
  policy: PolicyRequest;
  /** S3Config message bytes; undefined: none. */
  s3Config: Buffer | undefined;
  /** SYNC: how long the caller means to wait, in milliseconds. */
  waitMs: number;
  /** Empty: none. */
  idempotencyKey: string;
  /** Of a trace that is recorded. */
  traceparent?: string | undefined;
}

/** The end of an attempt, as its agent reports it. */
export interface AttemptOutcome extends MachineAttempt {
  kind: OutcomeKind;
  output: Buffer | undefined;
  /** For FAILED, LOST and STOPPED. */
  error: string;
  /** How long the worker was at it, in milliseconds. Undefined: since it was given the job. */
  executionMs?: number;
  /** For LOST: its worker ran out of memory by it. */
  outOfMemory?: boolean;
}

/** One streamed piece of an attempt's output. */
export interface AttemptChunk extends MachineAttempt {
  /** From 1 within the attempt. */
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** A stored chunk. */
export interface Chunk {
  attempt: number;
  number: number;
  output: Buffer;
  metrics: Buffer | undefined;
}

/** A place in a job's chunks; reading goes on strictly after it. */
export interface ChunkCursor {
  attempt: number;
  number: number;
}

/** An answer to a reader of chunks. */
export interface ChunkPage {
  chunks: Chunk[];
  /** When it is final and `more` is false, no chunk will follow. */
  state: JobState;
  cursor: ChunkCursor;
  more: boolean;
  error: string | undefined;
}

/** Jobs and workers of an endpoint (docs/reference/api.md#health). */
export interface EndpointHealth {
  jobs: { completed: number; failed: number; inProgress: number; inQueue: number; retried: number };
  workers: { idle: number; running: number; initializing: number; ready: number; throttled: number; unhealthy: number; standby: number };
  /** Why the throttled workers find no place; absent when none is throttled, or nobody has looked yet. */
  refusal?: PlacementRefusal;
  /** Why no machine could ever take one of its workers; absent while one could. */
  cannotRun?: PlacementRefusal;
}

/** Resolves when the caller has room for a large output in memory. */
export type AcquireMemory = () => Promise<void>;

/** What callers ask for. All fail with DomainError. The caller has been authorized before. */
export interface JobCalls {
  /** Stored when this resolves. */
  submit(submission: Submission): Promise<Job>;
  /**
   * Submits and waits; the wait is `submission.waitMs`. Aborting ends the wait, not the job. `onStored` gets the job as it was stored: queued, or
   * with the worker that took it at once.
   */
  submitAndWait(submission: Submission, signal: AbortSignal, onStored?: (job: Job) => void): Promise<Job>;
  /** `room` is waited for before a large output is read. */
  get(key: JobKey, options: { omitOutput: boolean; ttlMs: number; acquireMemory?: AcquireMemory }): Promise<Job>;
  /** What was submitted as its input. */
  input(key: JobKey): Promise<Buffer>;
  wait(key: JobKey, waitMs: number, signal: AbortSignal, acquireMemory?: AcquireMemory): Promise<Job>;
  /** `room` is waited for before a large page is read. */
  readChunks(
    key: JobKey, options: { cursor: ChunkCursor | undefined; waitMs: number; limit: number }, signal: AbortSignal, acquireMemory?: AcquireMemory,
  ): Promise<ChunkPage>;
  cancel(key: JobKey): Promise<Job>;
  retry(key: JobKey): Promise<Job>;
  /** Cancels or retries the next of all jobs that a filter finds. */
  change(request: ChangeRequest): Promise<JobsChanged>;
  /** Number of removed jobs. */
  purge(endpointId: string): Promise<number>;
  list(endpointId: string, page: JobListRequest): Promise<JobListPage>;
  /** What jobs failed of lately, in groups. */
  errors(endpointId: string, request: ErrorsRequest): Promise<FoundErrors>;
  health(endpointId: string): Promise<EndpointHealth>;
  /** Webhook calls of a job with these fields, newest first. */
  webhooks(key: JobKey, filters?: Readonly<Record<string, string>>): Promise<WebhookCallRecord[]>;
  /** Asks for the newest of them anew. */
  redriveWebhook(key: JobKey): Promise<WebhookCallRecord>;
}

/** What dispatch does with attempts. */
export interface AttemptCalls {
  /**
   * Claims up to one job per slot, all of one endpoint, and resolves after the commit. Slots that got no job stay with the caller, who gives
   * them back. Cheap when this replica knows of no queued job: then it asks the database only from time to time, so call it often.
   */
  claim(endpointId: string, slots: readonly Slot[]): Promise<ClaimedJob[]>;
  /**
   * Claims jobs to be handed over behind `claimed`, one per slot: only such as have the policy of all of these, and have waited long enough
   * that no other worker stands idle.
   */
  claimPrefetch(endpointId: string, slots: readonly Slot[], claimed: readonly AssignedJob[]): Promise<ClaimedJob[]>;
  /** These attempts were handed over ahead and have not begun: their execution time counts from now. Those that are not current are left. */
  postpone(attempts: readonly MachineAttempt[]): Promise<void>;
  /** Those of these workers whose jobs another worker could begin: one stands idle, or the endpoint may have one more. */
  replaceable(workers: readonly { endpointId: string; workerId: string }[]): Promise<string[]>;
  /**
   * Records an end; resolves after the commit. Chunks of the attempt that were given before are stored before. An output that is no JSON makes
   * the job FAILED. 'stale': nothing changed, somebody was first, or the attempt is not that machine's.
   */
  recordOutcome(outcome: AttemptOutcome): Promise<'recorded' | 'stale'>;
  /**
   * Stores chunks of one endpoint from one machine, in their order and behind those that were given before; resolves after the commit. Those of an attempt that
   * is not current, or not that machine's, are dropped silently. Answers those that are no JSON: their jobs are FAILED now, and what follows them is dropped.
   */
  appendChunks(chunks: readonly AttemptChunk[]): Promise<AttemptChunk[]>;
  /** Shows a progress value; only the latest counts. Bounded and lossy by design: one that is no JSON is dropped too. */
  recordProgress(key: MachineAttempt, output: Buffer): void;
  /**
   * Loses all attempts of a machine, or of one of its workers, that are not in `held`; resolves after the commit with their number. For a
   * Hello (held = what the agent lists), for a worker that died, for a machine that left.
   */
  loseAttempts(holder: { machineId: string; workerId?: string }, held: readonly AttemptKey[], cause: string): Promise<number>;
  /** The input of a current attempt of that machine; undefined when it is not current any more. */
  readInput(key: MachineAttempt): Promise<Buffer | undefined>;
  /** Whether an attempt is current and of that machine. */
  isCurrent(key: MachineAttempt): Promise<boolean>;
  /** S3Config message bytes of a claimed job; undefined: none. */
  openS3Config(job: ClaimedJob): Buffer | undefined;
}

/** The engine. */
export interface JobEngine {
  calls: JobCalls;
  attempts: AttemptCalls;
  /** Deletes all jobs of an endpoint in any state, for its deletion. Number of deleted jobs. */
  deleteJobs(endpointId: string): Promise<number>;
  /** Loops and the notifier, in start order. */
  services: Service[];
}
