/**
 * Keeps a worker of the Python SDK from sleeping (docs/reference/worker-protocol.md#short-jobs). That SDK sleeps a
 * second whenever it has no free capacity left, and a job that it has not started yet, which may take it 0.1 s, uses
 * twice the capacity. A worker that is never given the last of its capacity asks again at once. Pure.
 */

/**
 * Least concurrency for pacing. With less, too few jobs would run at a time: such a worker does better with a full list
 * and the sleep after it.
 */
export const PACED_MIN = 8;
/**
 * Longest execution that counts as short, in milliseconds. For longer ones, use of all the capacity matters more than a
 * sleep. The same value as in core.
 */
const SHORT_MS_MAX = 500;
/** Consecutive short executions before pacing starts. */
const MEASURED_MIN = 3;
/**
 * Least share of the concurrency that an answer fills while there are jobs for it: each take costs the worker as much
 * as a job.
 */
const ANSWER_SHARE = 1 / 8;

/**
 * Time without a take after which the worker sleeps or is busy with something else, in milliseconds. A job would wait
 * for it although another worker may be free.
 */
const ASLEEP_MS = 200;

export class Pace {
  #concurrency = 0;
  /** Short executions since the last long one. */
  #short = 0;
  /** Lists that may contain jobs which the worker has not started, oldest first. */
  #fresh: { atMs: number; jobs: number }[] = [];
  /** Results that it has sent and whose answer it waits for. It still counts these jobs. */
  #unanswered = 0;
  /** Time at which it was last given jobs. */
  #givenAtMs = 0;

  /**
   * Records that the worker asks for `requested` jobs. `held`: attempts that it was given and that have not ended;
   * `idle`: it says that it has none.
   */
  asks(requested: number, { held, idle }: { held: number; idle: boolean }): void {
    this.#concurrency = idle ? requested : Math.max(this.#concurrency, requested + held);
    if (idle) this.#fresh = [];
  }

  /** Records that it was given this many jobs. */
  gets(jobs: number, nowMs: number): void {
    this.#fresh.push({ atMs: nowMs, jobs });
    this.#givenAtMs = nowMs;
  }

  /**
   * Records that it sends the result of a job that it was given at `givenAtMs`. Whenever it starts a job, it starts all
   * that it has.
   */
  sends(givenAtMs: number): void {
    this.#fresh = this.#fresh.filter(({ atMs }) => atMs > givenAtMs);
    this.#unanswered += 1;
  }

  /** Records that a result is about to be answered. */
  answered(): void {
    this.#unanswered -= 1;
  }

  /** Records the duration of an execution; `undefined` if it was lost or stopped. */
  ended(executionMs: number | undefined): void {
    this.#short = executionMs !== undefined && executionMs <= SHORT_MS_MAX ? this.#short + 1 : 0;
  }

  /** Records that an execution has been running for this long. */
  runs(executionMs: number): void {
    if (executionMs > SHORT_MS_MAX) this.#short = 0;
  }

  /** True if its concurrency is large enough for pacing, were its jobs short. */
  get canBe(): boolean {
    return this.#concurrency >= PACED_MIN;
  }

  /** True if the worker is paced. */
  get isOn(): boolean {
    return this.canBe && this.#short >= MEASURED_MIN;
  }

  /**
   * Returns how many jobs it can hold without sleeping, also between its takes. `asks`: a take is open. `undefined` if
   * it is not paced, or sleeps anyway.
   */
  capacity(asks: boolean, nowMs: number): number | undefined {
    return this.isOn && (asks || nowMs - this.#givenAtMs <= ASLEEP_MS) ? this.#concurrency - 1 : undefined;
  }

  /** Returns how many of `waiting` jobs it may be given now; 0 if it should rather wait for more. */
  most({ held, waiting }: { held: number; waiting: number }): number {
    const fresh = this.#fresh.reduce((sum, { jobs }) => sum + jobs, 0);
    const most = Math.floor((this.#concurrency - held - this.#unanswered - fresh - 1) / 2);
    return most < Math.min(waiting, this.#concurrency * ANSWER_SHARE) ? 0 : Math.max(most, 0);
  }
}
