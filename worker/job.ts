/** What a handler gets and gives: the vocabulary of `slipway-worker`. */

/** A job. Whatever else the platform sends with it is there too. */
export interface Job<Input = unknown> {
  id: string;
  /** What the caller sent. */
  input: Input;
  /** Storage settings, when the caller gave any. */
  s3Config?: {
    accessId?: string;
    accessSecret?: string;
    bucketName?: string;
    endpointUrl?: string;
    objectPath?: string;
  };
  /** W3C trace context, when the job's trace is recorded: begin your own spans under it. */
  traceparent?: string;
  /** Aborts when the job is cancelled or has timed out: the handler should end, and what it returns is dropped. */
  signal: AbortSignal;
}

/**
 * The user's code. It returns the output, or a promise of it, or is a generator whose values are streamed. A returned
 * object with a truthy `error` fails the job; with a truthy `refresh_worker` this worker is replaced before its next
 * job.
 */
export type Handler<Input = unknown> = (job: Job<Input>) => unknown;

/** Settings of a worker. */
export interface StartOptions<Input = unknown> {
  handler: Handler<Input>;
  /** Jobs at once, or a function from the number now to the number from now on. Default 1. */
  concurrency?: number | ((current: number) => number);
  /** Replace this worker after each job. Default false. */
  refreshWorker?: boolean;
  /** Keep all yielded values as the job's output as well. Default false. */
  returnAggregateStream?: boolean;
}

/** Version of this module, as it reports itself. */
export const SDK_VERSION = '0.1.0';
