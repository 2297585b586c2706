/**
 * The jobs that concern this replica right now, one record each in one map: who waits for the job, its early run, and
 * its attempts on workers whose sessions this replica holds. A record is dropped when none of these is left. In memory
 * only: a replica that lost it learns the attempts from the agents' hellos.
 */
import type { Job, JobKey, MachineAttempt } from '../domain/jobs/job.ts';
import type { NewJob } from '../store/jobs/inserted-rows.ts';
import type { Slot } from './slots.ts';

/** A run that began before its job was stored. Its attempt is number 1. */
export interface EarlyRun {
  readonly job: NewJob;
  readonly slot: Slot;
  /** When it began, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** Which row is being written: `running` none, `storing` one without an outcome, `ending` one with its outcome. */
  step: 'running' | 'storing' | 'ending';
  /** The submission's answer: the job, after the commit. */
  readonly answer: PromiseWithResolvers<Job>;
  /** Resolves when it is known whether the row is there. Until then no other statement may look for it. */
  readonly known: PromiseWithResolvers<void>;
}

/** How a wait ends: with the final job, with an error because the job is gone, or with neither. */
export type WaitEnd = Job | Error | undefined;

/** One caller that waits for a job. */
export interface Waiter {
  readonly key: JobKey;
  readonly live: LiveJob;
  readonly ended: Promise<WaitEnd>;
  readonly sinceMs: number;
  /** True once the job is stored. From then on its absence means that it was deleted. */
  stored: boolean;
  /** Ends the wait. Idempotent. */
  end(how: WaitEnd): void;
}

/** An attempt that a worker holds, or whose outcome has arrived and is not recorded yet. */
export interface LiveAttempt {
  readonly job: LiveJob;
  readonly number: number;
  readonly machineId: string;
  /** The worker that holds it, with all that it holds; `undefined` if none does. */
  holder: { readonly workerId: string; readonly held: Set<LiveAttempt> } | undefined;
  /** Number of arrivals of its outcome: an agent sends it again while an earlier upload has not been given up here. */
  arrivals: number;
}

/** State of a job in this replica. */
interface LiveJob {
  readonly name: string;
  readonly endpointId: string;
  readonly jobId: string;
  run: EarlyRun | undefined;
  /** Callers that wait; `undefined` if none does. */
  waiters: Set<Waiter> | undefined;
  /** More than one while an attempt of a machine without a lease is still counted. */
  readonly attempts: LiveAttempt[];
}

export class LiveJobs {
  readonly #jobs = new Map<string, LiveJob>();

  /** Number of records. */
  get size(): number {
    return this.#jobs.size;
  }

  [Symbol.iterator](): Iterator<LiveJob> {
    return this.#jobs.values();
  }

  /** Returns the record of a job; `undefined` if there is none. */
  find(endpointId: string, jobId: string): LiveJob | undefined {
    return this.#jobs.size === 0 ? undefined : this.#jobs.get(nameOf(endpointId, jobId));
  }

  /** Returns the record of a job, a new one if there is none. Whoever puts something into it closes it afterwards. */
  open(endpointId: string, jobId: string): LiveJob {
    const name = nameOf(endpointId, jobId);
    let job = this.#jobs.get(name);
    if (!job)
      this.#jobs.set(name, (job = { name, endpointId, jobId, run: undefined, waiters: undefined, attempts: [] }));
    return job;
  }

  /** Drops a record if nothing is left in it. */
  close(job: LiveJob): void {
    if (job.run || job.waiters || job.attempts.length > 0) return;
    // A record that was dropped before may have a successor.
    if (this.#jobs.get(job.name) === job) this.#jobs.delete(job.name);
  }

  /** Returns an attempt that is held, or whose outcome is arriving; `undefined` if neither. */
  attempt(key: MachineAttempt): LiveAttempt | undefined {
    const job = this.find(key.endpointId, key.jobId);
    return job && attemptOf(job, key);
  }

  /** Returns an attempt, a new one if it is not here. Whoever marks it closes it afterwards. */
  openAttempt(key: MachineAttempt): LiveAttempt {
    const job = this.open(key.endpointId, key.jobId);
    const known = attemptOf(job, key);
    if (known) return known;
    const { attempt: number, machineId } = key;
    const attempt: LiveAttempt = { job, number, machineId, holder: undefined, arrivals: 0 };
    job.attempts.push(attempt);
    return attempt;
  }

  /** Drops an attempt that no worker holds and whose outcome does not arrive. Idempotent. */
  closeAttempt(attempt: LiveAttempt): void {
    if (attempt.holder || attempt.arrivals > 0) return;
    const { job } = attempt;
    const index = job.attempts.indexOf(attempt);
    if (index < 0) return;
    job.attempts.splice(index, 1);
    this.close(job);
  }

  /** Marks the outcome of an attempt as arriving, held or not, until `arrived` is called as often. */
  arrive(key: MachineAttempt): LiveAttempt {
    const attempt = this.openAttempt(key);
    attempt.arrivals += 1;
    return attempt;
  }

  /** Ends one arrival of an outcome: it is recorded, or was given up. Call it once for each `arrive`. */
  arrived(attempt: LiveAttempt): void {
    attempt.arrivals = Math.max(attempt.arrivals - 1, 0);
    this.closeAttempt(attempt);
  }

  /** Returns whether the outcome of an attempt has arrived and is not recorded yet. */
  isArriving(key: MachineAttempt): boolean {
    return (this.attempt(key)?.arrivals ?? 0) > 0;
  }
}

/** Returns an attempt by its number and machine: a report of another machine must never match. */
function attemptOf(job: LiveJob, { attempt, machineId }: MachineAttempt): LiveAttempt | undefined {
  for (const each of job.attempts) if (each.number === attempt && each.machineId === machineId) return each;
  return undefined;
}

function nameOf(endpointId: string, jobId: string): string {
  return `${endpointId}/${jobId}`;
}
