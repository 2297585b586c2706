/** One attempt of a job as the agent holds it. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { S3Config } from '@slipway/proto/gen/slipway/v1/job';
import { attemptKey } from '../spool/attempt-key.ts';
import type { AttemptRecord } from '../spool/run-log.ts';
import type { AttemptTrace } from './attempt-trace.ts';

/**
 * Phase of an attempt. fetching: its input is on the way; waiting: it waits for the worker's next take; handed: it was
 * given to the worker in answer to a take; ended: it has an outcome. Phases only go forward.
 */
type AttemptPhase = 'fetching' | 'waiting' | 'handed' | 'ended';

/** Core's request to stop an attempt. */
export interface StopRequest {
  /** Time of the request, by the monotonic clock. */
  atMs: number;
  /** The worker's open take was answered empty once, so that its next take shows what it still holds. */
  probed: boolean;
  /** The worker cannot receive the stop, or does not obey. It gets nothing new until the attempt has ended. */
  blocks: boolean;
  /**
   * The attempt was prefetched, or its answer was still being written, at the time of the request: the worker must be
   * asked once it can know the job.
   */
  early: boolean;
  /**
   * The worker was asked before it had surely read the job, so it may have read the stop first. It is asked again if it
   * names the job and does not obey.
   */
  unnamed: boolean;
}

export class Attempt {
  readonly ref: AttemptRef;
  /** Key of the attempt within this agent. */
  readonly key: string;
  readonly s3Config: S3Config | undefined;
  /** Time at which the attempt or its input arrived here, by the monotonic clock. */
  waitingSinceMs: number;
  /** JSON text. Dropped once it was handed over. */
  input: readonly Uint8Array[] | undefined;
  /** Budget in which the input is fetched, or waits to be. `undefined` if the input came with the attempt. */
  permit: { release(): void } | undefined;
  phase: AttemptPhase;
  /** Core prefetched it, beyond what its worker asked for. */
  readonly prefetch: boolean;
  /** Time at which a take was answered with it. */
  handedAtMs = 0;
  /** The worker has prefetched it and begins it when a previous one ends. */
  prefetched = false;
  /**
   * Time at which the worker began it: the answer to its take, or the end of the previous attempt. `undefined` if it
   * has not begun, or its begin was not seen.
   */
  beganAtMs: number | undefined;
  /** Time of the last report to core that it is still prefetched. */
  waitingReportedMs = 0;
  /** The operating system has all of the answer to the take. */
  flushed = false;
  /**
   * Time at which the worker was seen to be done with that answer: it took again, or the connection carried something
   * else or ended. `undefined` if the worker may still read the answer; it then runs the job, however late.
   */
  answerEndedAtMs: number | undefined;
  /** The worker lists its jobs without this one, and may still read the answer: it has not begun the job. */
  unread = false;
  /** The worker has shown that it knows the job. */
  confirmed = false;
  /** When the worker last named the job. */
  namedAtMs = 0;
  stop: StopRequest | undefined;
  /** Its part of a recorded trace. */
  trace: AttemptTrace | undefined;
  /** The batch that the job belongs to. */
  batchId: string | undefined;
  /** Number of its latest chunk. */
  chunkNumber = 0;
  /** Values that its handler yielded. */
  yielded = 0;
  /**
   * Reason why a yielded value is not among its chunks. Such an attempt only succeeds if its outcome brings all values
   * along.
   */
  leftOut: string | undefined;
  /**
   * Reason why the worker could not send one of its values, as the worker's output says. It may have been a progress
   * value.
   */
  unsendable: string | undefined;
  /** The next run of this agent would find it: it was given to a worker that outlives the agent. */
  isKept = false;
  /**
   * Reason why yielded values that this agent never saw may be missing. The attempt must then run again, unless its
   * outcome brings all of them along.
   */
  missed: string | undefined;
  /** A value is on its way and may be lost with the agent. Only for workers that outlive the agent. */
  begun = false;
  /**
   * The last value, while its worker may not know that it was accepted. `before`: number of the chunk before it. Only
   * for workers that outlive the agent.
   */
  lastValue: { mark: string; before: number } | undefined;

  constructor(options: {
    ref: AttemptRef;
    input: readonly Uint8Array[] | undefined;
    s3Config: S3Config | undefined;
    nowMs: number;
    prefetch?: boolean;
  }) {
    this.ref = options.ref;
    this.key = attemptKey(options.ref);
    this.s3Config = options.s3Config;
    this.prefetch = options.prefetch ?? false;
    this.waitingSinceMs = options.nowMs;
    this.input = options.input;
    this.phase = options.input ? 'waiting' : 'fetching';
  }

  /** Creates an attempt that was given to a worker by an earlier run of the agent. */
  static adopt({ ref, chunkNumber, yielded, leftOut, missed, lastValue }: AttemptRecord, nowMs: number): Attempt {
    const attempt = new Attempt({ ref, input: undefined, s3Config: undefined, nowMs });
    // An answer whose connection was given up has arrived in full or not at all: the worker's next request shows which.
    return Object.assign(attempt, {
      phase: 'handed' as const,
      handedAtMs: nowMs,
      namedAtMs: nowMs,
      flushed: true,
      isKept: true,
      chunkNumber,
      yielded,
      leftOut,
      missed,
      lastValue,
    });
  }

  /** Returns the key of an attempt within this agent. */
  static keyOf(ref: AttemptRef): string {
    return attemptKey(ref);
  }

  /** Drops the input, which is no longer needed. */
  dropInput(): void {
    this.input = undefined;
    this.permit?.release();
    this.permit = undefined;
  }

  /** Records that the worker began it, as far as can be seen. */
  begin(nowMs: number): void {
    this.prefetched = false;
    this.beganAtMs = nowMs;
  }

  /** Time since which the worker should have said something about it. */
  get silentSinceMs(): number {
    return Math.max(this.handedAtMs, this.beganAtMs ?? 0, this.namedAtMs, this.answerEndedAtMs ?? 0);
  }

  /** True if the worker can still read the answer at any later time, and has not shown that it did. */
  get mayBeUnread(): boolean {
    return !this.confirmed && this.answerEndedAtMs === undefined;
  }

  /** Records that the worker is done with the answer: it has read it, or never will. */
  answerEnded(nowMs: number): void {
    if (!this.flushed || this.answerEndedAtMs !== undefined) return;
    this.answerEndedAtMs = nowMs;
    this.#read(nowMs);
  }

  /** Records that the worker named the job: it has it. */
  named(nowMs: number): void {
    this.confirmed = true;
    this.namedAtMs = nowMs;
    this.#read(nowMs);
  }

  #read(nowMs: number): void {
    if (!this.unread) return;
    this.unread = false;
    this.begin(nowMs);
  }
}
