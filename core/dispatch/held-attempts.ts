/** The attempts that the workers of a slot pool hold, kept in the records of their jobs. */
import type { MachineAttempt } from '../domain/jobs/job.ts';
import type { LiveAttempt, LiveJobs } from '../jobs/live-jobs.ts';
import type { HeldAttempt, WorkerSlots } from './worker-slots.ts';

export class HeldAttempts {
  readonly #live: LiveJobs;
  #size = 0;

  constructor(live: LiveJobs) {
    this.#live = live;
  }

  /** Number of attempts that workers hold. */
  get size(): number {
    return this.#size;
  }

  /** Counts an attempt on a worker, and on no other any more. */
  hold(
    { slot: { workerId, machineId }, held }: WorkerSlots,
    { endpointId, jobId, attempt: number }: MachineAttempt,
  ): void {
    const attempt = this.#live.openAttempt({ endpointId, jobId, attempt: number, machineId });
    if (attempt.holder) this.#uncount(attempt);
    attempt.holder = { workerId, held };
    held.add(attempt);
    this.#size += 1;
  }

  /** Takes an attempt from its worker. Returns the worker's id; `undefined` if none held it. */
  release(attempt: LiveAttempt): string | undefined {
    const workerId = attempt.holder?.workerId;
    if (workerId === undefined) return undefined;
    this.#uncount(attempt);
    this.#live.closeAttempt(attempt);
    return workerId;
  }

  /** Takes all attempts from a worker. */
  releaseAll({ held }: WorkerSlots): void {
    for (const attempt of held) this.release(attempt);
  }

  /** Returns an attempt, held or not; `undefined` if it is not here. */
  find(key: MachineAttempt): LiveAttempt | undefined {
    return this.#live.attempt(key);
  }

  /** Returns the attempts of a worker. */
  of({ slot: { workerId }, held }: WorkerSlots): HeldAttempt[] {
    return [...held].map(({ job: { endpointId, jobId }, number: attempt, machineId }) => {
      return { endpointId, jobId, attempt, machineId, workerId };
    });
  }

  #uncount(attempt: LiveAttempt): void {
    attempt.holder!.held.delete(attempt);
    attempt.holder = undefined;
    this.#size -= 1;
  }
}
