/**
 * Keeps a worker of the Python SDK awake (docs/reference/worker-protocol.md#short-jobs). That SDK sleeps a second
 * whenever no room is left, and a job that it has not started yet, which may take it 0.1 s, takes twice the room. A
 * worker that is never given the last of its room asks again at once. Pure.
 */

/** With less room too few jobs would run at a time: such a worker does better with a list, and the sleep after it. */
export const PACED_MIN = 8;
/**
 * An execution that takes longer is none for which a worker is kept awake, in milliseconds: all of its room matters
 * more. As in core.
 */
const SHORT_MS_MAX = 500;
/** Short executions in a row before it is. */
const MEASURED_MIN = 3;
/**
 * An answer has so much of the room at least while there are jobs for it: each take costs the worker as much as a job.
 */
const ANSWER_SHARE = 1 / 8;

/**
 * Without a take for so long it sleeps, or is busy with something else, in milliseconds: a job would wait for it though
 * another worker may be free.
 */
const ASLEEP_MS = 200;

export class Pace {
  #concurrency = 0;
  /** Short executions since the last long one. */
  #short = 0;
  /** Lists that may have jobs which the worker has not started, oldest first. */
  #fresh: { atMs: number; jobs: number }[] = [];
  /** Results that it has sent and whose answer it waits for: it counts these jobs. */
  #unanswered = 0;
  /** When it was given something last. */
  #givenAtMs = 0;

  /**
   * It asks for so many jobs. `held`: attempts that it was given and that have not ended; `idle`: it says that it has
   * none.
   */
  asks(requested: number, { held, idle }: { held: number; idle: boolean }): void {
    this.#concurrency = idle ? requested : Math.max(this.#concurrency, requested + held);
    if (idle) this.#fresh = [];
  }

  /** It was given so many. */
  gets(jobs: number, nowMs: number): void {
    this.#fresh.push({ atMs: nowMs, jobs });
    this.#givenAtMs = nowMs;
  }

  /** It sends the result of a job that it was given then. It starts all that it has whenever it starts one. */
  sends(givenAtMs: number): void {
    this.#fresh = this.#fresh.filter(({ atMs }) => atMs > givenAtMs);
    this.#unanswered += 1;
  }

  /** The result is about to be answered. */
  answered(): void {
    this.#unanswered -= 1;
  }

  /** An execution took so long. Undefined: it was lost or stopped. */
  ended(executionMs: number | undefined): void {
    this.#short = executionMs !== undefined && executionMs <= SHORT_MS_MAX ? this.#short + 1 : 0;
  }

  /** One has been running for so long. */
  runs(executionMs: number): void {
    if (executionMs > SHORT_MS_MAX) this.#short = 0;
  }

  /** It has room enough, were its jobs short. */
  get canBe(): boolean {
    return this.#concurrency >= PACED_MIN;
  }

  /** It is kept awake. */
  get isOn(): boolean {
    return this.canBe && this.#short >= MEASURED_MIN;
  }

  /**
   * How many jobs it can hold and stay awake, between its takes, too. `asks`: one is open. Undefined: it is not kept
   * awake, or sleeps all the same.
   */
  room(asks: boolean, nowMs: number): number | undefined {
    return this.isOn && (asks || nowMs - this.#givenAtMs <= ASLEEP_MS) ? this.#concurrency - 1 : undefined;
  }

  /** How many of `waiting` jobs it may be given now; 0: it is better left to wait for some. */
  most({ held, waiting }: { held: number; waiting: number }): number {
    const fresh = this.#fresh.reduce((sum, { jobs }) => sum + jobs, 0);
    const most = Math.floor((this.#concurrency - held - this.#unanswered - fresh - 1) / 2);
    return most < Math.min(waiting, this.#concurrency * ANSWER_SHARE) ? 0 : Math.max(most, 0);
  }
}
