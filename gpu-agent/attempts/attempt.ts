/** One attempt of a job as the agent holds it. */
import type { AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { S3Config } from '@slipway/proto/gen/slipway/v1/job';
import { attemptKey } from '../spool/attempt-key.ts';
import type { KeptAttempt } from '../spool/run-log.ts';
import type { AttemptTrace } from './attempt-trace.ts';

/**
 * fetching: its input is on the way; waiting: for the worker's next take; handed: answered to a take; ended: an outcome
 * exists. Only ever forward.
 */
type AttemptPhase = 'fetching' | 'waiting' | 'handed' | 'ended';

/** That core wants it to end. */
export interface StopRequest {
  /** Since when, by the steady clock. */
  atMs: number;
  /** The worker's open take was sent away once, so that it shows what it still holds. */
  probed: boolean;
  /** The worker cannot hear of it, or does not obey: until it has ended the worker gets nothing new. */
  blocks: boolean;
  /** It was in hand then: the worker has to hear of it when it begins. */
  early: boolean;
}

export class Attempt {
  readonly ref: AttemptRef;
  /** Names it within this agent. */
  readonly key: string;
  readonly s3Config: S3Config | undefined;
  /** When it arrived here, or when its input did, by the steady clock. */
  waitingSinceMs: number;
  /** JSON text. Dropped once it was handed over. */
  input: readonly Uint8Array[] | undefined;
  /** Where it is fetched to, or waits to be. Undefined: it came with the attempt. */
  room: { release(): void } | undefined;
  phase: AttemptPhase;
  /** Core gave it beyond what its worker asked for. */
  readonly ahead: boolean;
  /** When it was answered to a take. */
  handedAtMs = 0;
  /** The worker has it and begins it when one before it ends. */
  inHand = false;
  /**
   * When the worker began it: at the answer to its take, or when the one before it had ended. Undefined: not yet, or
   * nobody saw it.
   */
  beganAtMs: number | undefined;
  /** When core last heard that it waits in hand. */
  waitingToldMs = 0;
  /** The operating system has all of that answer. */
  flushed = false;
  /**
   * When the worker was seen to be done with that answer: it took again, or the connection carried something else or
   * ended. Undefined: it may still read the answer, and then runs the job, however late.
   */
  answerOverAtMs: number | undefined;
  /** Its worker names its jobs and not this one, and may still read the answer: it has not begun it. */
  unread = false;
  /** The worker has shown that it knows the job. */
  confirmed = false;
  /** When the worker last named the job. */
  namedAtMs = 0;
  stop: StopRequest | undefined;
  /** Its part of a trace that is recorded. */
  trace: AttemptTrace | undefined;
  /** Number of its latest chunk. */
  chunkNumber = 0;
  /** Values that its handler yielded. */
  yielded = 0;
  /**
   * Why a yielded value is not among its chunks. Such an attempt only succeeds when its outcome brings all values
   * along.
   */
  leftOut: string | undefined;
  /** Why its worker could not send one of its values, a progress value perhaps, as the worker's output says. */
  unsendable: string | undefined;
  /** A successor of this agent would find it: it was given to a worker that outlives the agent. */
  isKept = false;
  /**
   * Why yielded values may be missing that this agent never saw: then it must run again, unless its outcome brings all
   * of them along.
   */
  missed: string | undefined;
  /** A value is on its way: it may be lost with the agent. Of workers that outlive the agent. */
  begun = false;
  /**
   * The last value, while its worker may not know that it was taken; `before`: number of the chunk before it. Of
   * workers that outlive the agent.
   */
  lastValue: { mark: string; before: number } | undefined;

  constructor(options: {
    ref: AttemptRef;
    input: readonly Uint8Array[] | undefined;
    s3Config: S3Config | undefined;
    nowMs: number;
    ahead?: boolean;
  }) {
    this.ref = options.ref;
    this.key = attemptKey(options.ref);
    this.s3Config = options.s3Config;
    this.ahead = options.ahead ?? false;
    this.waitingSinceMs = options.nowMs;
    this.input = options.input;
    this.phase = options.input ? 'waiting' : 'fetching';
  }

  /** One that a worker was given by an earlier run of the agent. */
  static takeUp({ ref, chunkNumber, yielded, leftOut, missed, lastValue }: KeptAttempt, nowMs: number): Attempt {
    const attempt = new Attempt({ ref, input: undefined, s3Config: undefined, nowMs });
    // All of an answer that was given up with its connection is either there or not: the worker's next words tell.
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

  /** Names an attempt within this agent. */
  static keyOf(ref: AttemptRef): string {
    return attemptKey(ref);
  }

  /** Nobody needs it any more. */
  dropInput(): void {
    this.input = undefined;
    this.room?.release();
    this.room = undefined;
  }

  /** The worker began it, as far as can be seen. */
  begin(nowMs: number): void {
    this.inHand = false;
    this.beganAtMs = nowMs;
  }

  /** Since when its worker should have said something about it. */
  get silentSinceMs(): number {
    return Math.max(this.handedAtMs, this.beganAtMs ?? 0, this.namedAtMs, this.answerOverAtMs ?? 0);
  }

  /** The worker can read the answer at any later time, and has not shown that it did. */
  get mayBeUnread(): boolean {
    return !this.confirmed && this.answerOverAtMs === undefined;
  }

  /** The worker is done with the answer: it has read it, or never will. */
  answerOver(nowMs: number): void {
    if (!this.flushed || this.answerOverAtMs !== undefined) return;
    this.answerOverAtMs = nowMs;
    this.#read(nowMs);
  }

  /** The worker named the job: it has it. */
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
