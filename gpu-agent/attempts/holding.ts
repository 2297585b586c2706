/**
 * What one worker holds for core: attempts that wait for its next take, attempts it was given, and those of them that
 * should end.
 */
import type { Attempt, StopRequest } from './attempt.ts';
import { Pace } from './pace.ts';

export class Holding {
  /** By job id: a worker names jobs only. */
  readonly #held = new Map<string, Attempt>();
  /** Those of them that the worker has not begun, in the order in which it will. */
  readonly #inHand = new Set<Attempt>();
  /** Oldest first. */
  readonly #waiting: Attempt[] = [];
  /** Attempts that should stop, some of which may have ended. */
  readonly #stopping = new Set<Attempt>();
  /**
   * Jobs to stop that no stop poll has carried yet. Each is about the worker's current attempt of the job, or its last.
   */
  readonly #jobsToStop = new Set<string>();
  #closed = false;
  /** How many attempts the worker runs at a time, as its last take said; the others are in hand. */
  #runs = Infinity;
  /** It must not begin what is in hand: it gets no answer to its results any more, and is ended. */
  isFinal = false;
  /** Waiting attempts are being gathered for one take. */
  gathering = false;
  /** How it is kept awake. */
  readonly pace = new Pace();

  /** How many attempts it was given that have not ended. */
  get size(): number {
    return this.#held.size;
  }

  /** How many wait for its next take. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many of these it has begun. */
  get begun(): number {
    return this.#held.size - this.#inHand.size;
  }

  /** All that it was given and that has not ended; a copy. */
  all(): Attempt[] {
    return [...this.#held.values()];
  }

  /** The attempt of a job that it was given. */
  of(jobId: string): Attempt | undefined {
    return this.#held.get(jobId);
  }

  /** It runs attempts that nobody asked to stop. What is in hand or unread is hurt by no end of the worker. */
  get holdsWanted(): boolean {
    for (const attempt of this.#held.values()) if (!attempt.stop && !attempt.inHand && !attempt.unread) return true;
    return false;
  }

  /** It gets nothing new: never again from this agent, or until an attempt that should stop has ended. */
  get isBlocked(): boolean {
    return this.#closed || this.awaitsEnd;
  }

  /** It does not end an attempt that should stop. */
  get awaitsEnd(): boolean {
    for (const attempt of this.#stopping) {
      if (attempt.phase === 'ended') this.#stopping.delete(attempt);
      else if (attempt.stop?.blocks) return true;
    }
    return false;
  }

  /** It gets nothing new from this agent, which stops. */
  close(): void {
    this.#closed = true;
  }

  /** It was given the attempt by an earlier run of the agent. */
  takeUp(attempt: Attempt): void {
    this.#held.set(attempt.ref.jobId, attempt);
  }

  /** The attempt waits for the worker's next take. */
  wait(attempt: Attempt): void {
    this.#waiting.push(attempt);
  }

  /**
   * Hands over at most `count` waiting attempts, the oldest first, and behind them those that are ahead, unless it
   * keeps these.
   */
  handOver(count: number, nowMs: number, keepsAhead = false): Attempt[] {
    const picked: Attempt[] = [];
    for (const attempt of this.#waiting) {
      if (picked.length >= count && (count === 0 || keepsAhead)) break;
      if (picked.length >= count && !attempt.ahead) continue;
      // An earlier attempt of the same job may still run here: the worker names jobs only, so the two could not be told
      // apart.
      if (!this.#held.has(attempt.ref.jobId)) picked.push(attempt);
    }
    const begun = this.begun;
    this.#runs = picked.length > count || begun < this.#held.size ? begun + count : Infinity;
    for (const [index, attempt] of picked.entries()) {
      this.#waiting.splice(this.#waiting.indexOf(attempt), 1);
      this.#held.set(attempt.ref.jobId, attempt);
      // One that was refused for its output is stopped after its end: not when the worker gets the job again.
      this.#jobsToStop.delete(attempt.ref.jobId);
      attempt.phase = 'handed';
      attempt.handedAtMs = nowMs;
      if (index < count) attempt.begin(nowMs);
      else this.#keepInHand(attempt);
    }
    return picked;
  }

  /** The worker begins what it holds in hand as far as it has room for it. The attempts that it begins now. */
  beginNext(nowMs: number): Attempt[] {
    const next: Attempt[] = [];
    if (this.isFinal) return next;
    for (const attempt of this.#inHand) {
      if (this.begun >= this.#runs) break;
      this.#inHand.delete(attempt);
      attempt.begin(nowMs);
      next.push(attempt);
    }
    return next;
  }

  /** What it has not begun; a copy. */
  inHand(): Attempt[] {
    return [...this.#inHand];
  }

  /** The attempt has ended. */
  leave(attempt: Attempt): void {
    const { jobId } = attempt.ref;
    this.#inHand.delete(attempt);
    if (this.#held.get(jobId) === attempt) {
      this.#held.delete(jobId);
      // A stop that no poll has carried was for this attempt: it must not meet a later one of the same job.
      this.#jobsToStop.delete(jobId);
      // Nor does it wait: a thousand others may.
      return;
    }
    const index = this.#waiting.indexOf(attempt);
    if (index >= 0) this.#waiting.splice(index, 1);
  }

  #keepInHand(attempt: Attempt): void {
    attempt.inHand = true;
    this.#inHand.add(attempt);
  }

  /** The attempt should end. */
  stop(attempt: Attempt, request: StopRequest): void {
    attempt.stop = request;
    this.#stopping.add(attempt);
  }

  /** The worker is to hear that this job should stop. */
  tellToStop(jobId: string): void {
    this.#jobsToStop.add(jobId);
  }

  /** The jobs to stop that it has not heard of. */
  get jobsToStop(): readonly string[] {
    return [...this.#jobsToStop];
  }

  /** Takes these jobs for the answer to a stop poll. */
  takeJobsToStop(): string[] {
    const jobs = [...this.#jobsToStop];
    this.#jobsToStop.clear();
    return jobs;
  }

  /** That answer did not arrive. Meanwhile a job may have come again, as an attempt that nobody wants to stop. */
  putBackJobsToStop(jobIds: readonly string[]): void {
    for (const jobId of jobIds) if (this.#held.get(jobId)?.stop) this.#jobsToStop.add(jobId);
  }
}

/** What each worker holds. */
export class Holdings {
  readonly #byWorker = new Map<string, Holding>();

  /** What a worker holds; for workers of this machine only, because it is kept until it is dropped. */
  of(workerId: string): Holding {
    let holding = this.#byWorker.get(workerId);
    if (!holding) this.#byWorker.set(workerId, (holding = new Holding()));
    return holding;
  }

  /** What a worker holds, if it ever held anything. */
  get(workerId: string): Holding | undefined {
    return this.#byWorker.get(workerId);
  }

  /** The worker was given attempts that have not ended. */
  isBusy(workerId: string): boolean {
    return (this.#byWorker.get(workerId)?.size ?? 0) > 0;
  }

  /** The worker is forgotten. */
  drop(workerId: string): void {
    this.#byWorker.delete(workerId);
  }
}
