/** One attempt of a job as the agent holds it. */
import type { AttemptRef } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { S3Config } from '../../proto/gen/slipway/v1/job.ts';
import { attemptKey } from '../spool/attempt-key.ts';

/**
 * fetching: its input is on the way; waiting: for the worker's next take; handed: answered to a take; ended: an outcome exists.
 * Only ever forward.
 */
export type AttemptPhase = 'fetching' | 'waiting' | 'handed' | 'ended';

/** That core wants it to end. */
export interface StopRequest {
  /** Since when, by the steady clock. */
  atMs: number;
  /** The worker's open take was sent away once, so that it shows what it still holds. */
  probed: boolean;
  /** The worker cannot hear of it, or does not obey: until it has ended the worker gets nothing new. */
  blocks: boolean;
}

export class Attempt {
  readonly ref: AttemptRef;
  /** Names it within this agent. */
  readonly key: string;
  readonly s3Config: S3Config | undefined;
  /** When it arrived here, or when its input did, by the steady clock. */
  waitingSinceMs: number;
  /** JSON text. Dropped once it was handed over. */
  input: Buffer | undefined;
  phase: AttemptPhase;
  /** When it was answered to a take. */
  handedAtMs = 0;
  /** The operating system has all of that answer. */
  flushed = false;
  /** The worker has shown that it knows the job. */
  confirmed = false;
  /** When the worker last named the job. */
  namedAtMs = 0;
  stop: StopRequest | undefined;
  /** Number of its latest chunk. */
  chunkNumber = 0;
  /** Values that its handler yielded. */
  yielded = 0;
  /** Why a yielded value is not among its chunks. Such an attempt only succeeds when its outcome brings all values along. */
  leftOut: string | undefined;

  constructor(options: { ref: AttemptRef; input: Buffer | undefined; s3Config: S3Config | undefined; nowMs: number }) {
    this.ref = options.ref;
    this.key = attemptKey(options.ref);
    this.s3Config = options.s3Config;
    this.waitingSinceMs = options.nowMs;
    this.input = options.input;
    this.phase = options.input ? 'waiting' : 'fetching';
  }

  /** The worker named the job: it has it. */
  named(nowMs: number): void {
    this.confirmed = true;
    this.namedAtMs = nowMs;
  }
}
