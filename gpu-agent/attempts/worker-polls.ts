/** What workers ask for at this moment, as the layer of attempts sees it: the bridge holds their requests open. */
import type { S3Config } from '@slipway/proto/gen/slipway/v1/job';

/** What a worker is told about a job. */
export interface JobParts {
  /** The job's id. */
  id: string;
  /** JSON text of the input, in pieces as it came; `{}` is delivered as `{}`. */
  input: readonly Uint8Array[];
  /** Storage settings, when the caller gave any. */
  s3Config: S3Config | undefined;
  /** Of a trace that is recorded. */
  traceparent?: string | undefined;
}

/** A take that waits for jobs. */
export interface OpenTake {
  /** Jobs it asks for, 1 or more. */
  readonly requested: number;
  /**
   * Answers it with these jobs. Resolves to true once the operating system has all of the answer, to false when the
   * worker left before.
   */
  answer(jobs: readonly JobParts[]): Promise<boolean>;
  /**
   * Calls `listener` once the worker has read the answer or never will: its connection carries something else, or has
   * ended. Where that can be seen.
   */
  onOver?(listener: () => void): void;
  /** It is about to be answered: nobody else shall. */
  reserve(): void;
  /** Answers that there is nothing. */
  empty(): void;
}

/** A request that waits to hear which jobs to stop. */
export interface OpenStopPoll {
  answer(body: readonly Uint8Array[]): Promise<boolean>;
  empty(): void;
}

/** The open requests of all workers. */
export interface WorkerPolls {
  /** A worker's open takes, oldest first; a copy. */
  takes(workerId: string): OpenTake[];
  /** Its oldest open stop poll. */
  stopPoll(workerId: string): OpenStopPoll | undefined;
  /** Slots that its open takes ask for; 0 when no take is open. */
  requested(workerId: string): number;
  /** The concurrency that it declared in words with its last take. */
  declared(workerId: string): number | undefined;
  /** Forgets what it declared, until it asks again. */
  distrust(workerId: string): void;
}
