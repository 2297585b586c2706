/**
 * Attempts that one worker holds for core: waiting for its next take, given to it, and, of these,
 * that should end.
 */
import type { Attempt, StopRequest } from './attempt.ts';
import { Pace } from './pace.ts';

export class Holding {
  /** By job id, because a worker only names jobs. */
  readonly #held = new Map<string, Attempt>();
  /** Attempts among them that the worker has not begun, in the order in which it will begin them. */
  readonly #prefetched = new Set<Attempt>();
  /** Oldest first. */
  readonly #waiting: Attempt[] = [];
  /** Attempts that should stop, some of which may have ended. */
  readonly #stopping = new Set<Attempt>();
  /**
   * Jobs to stop that no stop poll has carried yet. Each entry means the worker's current attempt of the job, or its
   * last.
   */
  readonly #jobsToStop = new Set<string>();
  #closed = false;
  /** Number of attempts that the worker runs at a time, as its last take said. The others are prefetched. */
  #runs = Infinity;
  /** The worker must not begin its prefetched attempts: its results are no longer answered, and it is ended. */
  isFinal = false;
  /** Waiting attempts are being gathered for one take. */
  gathering = false;
  /** Keeps a worker of the Python SDK from sleeping between takes. */
  readonly pace = new Pace();

  /** Number of attempts that the worker was given and that have not ended. */
  get size(): number {
    return this.#held.size;
  }

  /** Number of attempts that wait for its next take. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Number of the given attempts that it has begun. */
  get begun(): number {
    return this.#held.size - this.#prefetched.size;
  }

  /** Returns a copy of all attempts that it was given and that have not ended. */
  all(): Attempt[] {
    return [...this.#held.values()];
  }

  /** Returns the attempt of a job that it was given. */
  of(jobId: string): Attempt | undefined {
    return this.#held.get(jobId);
  }

  /**
   * True if it runs attempts without a request to stop. Prefetched and unread attempts do not count: the end of the
   * worker does not harm them.
   */
  get holdsWanted(): boolean {
    for (const attempt of this.#held.values()) if (!attempt.stop && !attempt.prefetched && !attempt.unread) return true;
    return false;
  }

  /** True if it gets nothing new: for good, or until an attempt that should stop has ended. */
  get isBlocked(): boolean {
    return this.#closed || this.awaitsEnd;
  }

  /** True if an attempt that should stop blocks the worker until it ends. */
  get awaitsEnd(): boolean {
    for (const attempt of this.#stopping) {
      if (attempt.phase === 'ended') this.#stopping.delete(attempt);
      else if (attempt.stop?.blocks) return true;
    }
    return false;
  }

  /** Closes the worker to new attempts: this agent stops. */
  close(): void {
    this.#closed = true;
  }

  /** Adds an attempt that an earlier run of the agent gave to the worker. */
  adopt(attempt: Attempt): void {
    this.#held.set(attempt.ref.jobId, attempt);
  }

  /** Queues an attempt for the worker's next take. */
  wait(attempt: Attempt): void {
    this.#waiting.push(attempt);
  }

  /**
   * Hands over at most `count` waiting attempts, the oldest first, and the prefetched attempts behind them, unless
   * `keepsAhead` is true.
   */
  handOver(count: number, nowMs: number, keepsAhead = false): Attempt[] {
    const picked: Attempt[] = [];
    for (const attempt of this.#waiting) {
      if (picked.length >= count && (count === 0 || keepsAhead)) break;
      if (picked.length >= count && !attempt.prefetch) continue;
      // An earlier attempt of the same job may still run here. The worker only names jobs, so the two could not be told
      // apart.
      if (!this.#held.has(attempt.ref.jobId)) picked.push(attempt);
    }
    const begun = this.begun;
    this.#runs = picked.length > count || begun < this.#held.size ? begun + count : Infinity;
    for (const [index, attempt] of picked.entries()) {
      this.#waiting.splice(this.#waiting.indexOf(attempt), 1);
      this.#held.set(attempt.ref.jobId, attempt);
      // An attempt that was rejected for its output gets its stop after its end. That stop must not reach the worker
      // once it has the job again.
      this.#jobsToStop.delete(attempt.ref.jobId);
      attempt.phase = 'handed';
      attempt.handedAtMs = nowMs;
      if (index < count) attempt.begin(nowMs);
      else this.#markPrefetched(attempt);
    }
    return picked;
  }

  /** Begins prefetched attempts as far as the worker has capacity. Returns the attempts that begin now. */
  beginNext(nowMs: number): Attempt[] {
    const next: Attempt[] = [];
    if (this.isFinal) return next;
    for (const attempt of this.#prefetched) {
      if (this.begun >= this.#runs) break;
      this.#prefetched.delete(attempt);
      attempt.begin(nowMs);
      next.push(attempt);
    }
    return next;
  }

  /** Returns a copy of the attempts that it has not begun. */
  prefetched(): Attempt[] {
    return [...this.#prefetched];
  }

  /** Removes an attempt that has ended. */
  leave(attempt: Attempt): void {
    const { jobId } = attempt.ref;
    this.#prefetched.delete(attempt);
    if (this.#held.get(jobId) === attempt) {
      this.#held.delete(jobId);
      // A stop that no poll has carried was for this attempt: it must not reach a later attempt of the same job.
      this.#jobsToStop.delete(jobId);
      // It is not in the queue either, which may be a thousand long: do not search it.
      return;
    }
    const index = this.#waiting.indexOf(attempt);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  #markPrefetched(attempt: Attempt): void {
    attempt.prefetched = true;
    this.#prefetched.add(attempt);
  }

  /** Marks an attempt to be ended. */
  stop(attempt: Attempt, request: StopRequest): void {
    attempt.stop = request;
    this.#stopping.add(attempt);
  }

  /** Records that the worker must be asked to stop this job. */
  addJobToStop(jobId: string): void {
    this.#jobsToStop.add(jobId);
  }

  /** Jobs to stop that were not reported to the worker yet. */
  get jobsToStop(): readonly string[] {
    return [...this.#jobsToStop];
  }

  /** Takes these jobs for the answer to a stop poll. */
  takeJobsToStop(): string[] {
    const jobs = [...this.#jobsToStop];
    this.#jobsToStop.clear();
    return jobs;
  }

  /**
   * Puts jobs back whose answer did not arrive. A job may have come again since, as an attempt that nobody wants to
   * stop.
   */
  putBackJobsToStop(jobIds: readonly string[]): void {
    for (const jobId of jobIds) if (this.#held.get(jobId)?.stop) this.#jobsToStop.add(jobId);
  }
}

/** Holdings of all workers. */
export class Holdings {
  readonly #byWorker = new Map<string, Holding>();

  /**
   * Returns the worker's holding and creates it if needed. Only for workers of this machine, because it is kept until
   * it is dropped.
   */
  of(workerId: string): Holding {
    let holding = this.#byWorker.get(workerId);
    if (!holding) this.#byWorker.set(workerId, (holding = new Holding()));
    return holding;
  }

  /** Returns the worker's holding; `undefined` if it never held anything. */
  get(workerId: string): Holding | undefined {
    return this.#byWorker.get(workerId);
  }

  /** Returns true if the worker was given attempts that have not ended. */
  isBusy(workerId: string): boolean {
    return (this.#byWorker.get(workerId)?.size ?? 0) > 0;
  }

  /** Forgets a worker. */
  drop(workerId: string): void {
    this.#byWorker.delete(workerId);
  }
}
