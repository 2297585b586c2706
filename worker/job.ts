/** Types of the `slipway-worker` API: what a handler receives and returns. */

/** A job. It also has all other fields that the platform sends with it. */
export interface Job<Input = unknown> {
  id: string;
  /** Input that the caller sent. */
  input: Input;
  /** Storage settings, if the caller gave any. */
  s3Config?: {
    accessId?: string;
    accessSecret?: string;
    bucketName?: string;
    endpointUrl?: string;
    objectPath?: string;
  };
  /** W3C trace context, if the job's trace is recorded: start your own spans under it. */
  traceparent?: string;
  /** Aborts when the job is cancelled or has timed out. The handler should then end, and its output is dropped. */
  signal: AbortSignal;
}

/**
 * The user's code. It returns the output, or a promise of it, or is a generator whose values are streamed. A returned
 * object with a truthy `error` fails the job; with a truthy `refresh_worker`, this worker is replaced before its next
 * job.
 */
export type Handler<Input = unknown> = (job: Job<Input>) => unknown;

/** Settings of a worker. */
export interface StartOptions<Input = unknown> {
  handler: Handler<Input>;
  /** Number of jobs to run at once, or a function from the current to the new number. Default: 1. */
  concurrency?: number | ((current: number) => number);
  /** Replaces this worker after each job. Default: false. */
  refreshWorker?: boolean;
  /** Also returns all yielded values as the job's output. Default: false. */
  returnAggregateStream?: boolean;
}

/** Version of this package, which workers report as their SDK version. */
export const SDK_VERSION = '0.3.0';
