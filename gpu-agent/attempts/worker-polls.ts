/** Open requests of workers, as the attempts layer sees them. The bridge holds them open. */
import type { S3Config } from '@slipway/proto/gen/slipway/v1/job';

/** A job as it is handed to a worker. */
export interface JobParts {
  /** Id of the job. */
  id: string;
  /** JSON text of the input, in pieces as it arrived; `{}` is delivered as `{}`. */
  input: readonly Uint8Array[];
  /** Storage settings; `undefined` if the caller gave none. */
  s3Config: S3Config | undefined;
  /** Trace context; `undefined` if no trace is recorded. */
  traceparent?: string | undefined;
  /** The batch that the job belongs to. */
  batchId?: string | undefined;
}

/** A take that waits for jobs. */
export interface OpenTake {
  /** Number of jobs that it asks for, 1 or more. */
  readonly requested: number;
  /**
   * Sends these jobs to the worker. Resolves to true once the operating system has all of the answer, to false if the
   * worker left before.
   */
  answer(jobs: readonly JobParts[]): Promise<boolean>;
  /**
   * Calls `listener` once the worker has read the answer or never will: its connection carries something else, or has
   * ended. Absent where this cannot be seen.
   */
  onOver?(listener: () => void): void;
  /** Reserves the take for an answer that follows: no other caller may answer it. */
  reserve(): void;
  /** Ends the take without jobs. */
  empty(): void;
}

/** A request that waits for jobs to stop. */
export interface OpenStopPoll {
  answer(body: readonly Uint8Array[]): Promise<boolean>;
  empty(): void;
}

/** Open requests of all workers. */
export interface WorkerPolls {
  /** Returns a copy of a worker's open takes, oldest first. */
  takes(workerId: string): OpenTake[];
  /** Returns its oldest open stop poll. */
  stopPoll(workerId: string): OpenStopPoll | undefined;
  /** Returns the number of slots that its open takes ask for; 0 if no take is open. */
  requested(workerId: string): number;
  /** Returns the concurrency that it declared explicitly with its last take. */
  declared(workerId: string): number | undefined;
  /** Forgets its declared concurrency until it asks again. */
  distrust(workerId: string): void;
}
