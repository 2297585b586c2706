/**
 * Requests that workers hold open: takes, which wait for jobs, and stop polls, which wait for jobs to stop. Also holds
 * the concurrency that the last take declared.
 */
import type { JobParts, OpenStopPoll, OpenTake, WorkerPolls } from '../attempts/worker-polls.ts';
import { composeJob, composeJobs, traceHeaders } from './job-body.ts';
import type { LongPoll } from './long-poll.ts';

/** The part of a held request that is used here. */
export type HeldCall = Pick<LongPoll, 'answer' | 'empty'> &
  Partial<Pick<LongPoll, 'onOver'>> & {
    /** The worker uses this repository's SDK, which finds a job's trace in the job. Others find it in the headers. */
    tracesInJobs?: boolean;
  };

/** Request of a take. */
export interface Demand {
  /** Number of jobs, 1 or more. */
  requested: number;
  /** It wants an array. */
  batch: boolean;
}

/** Requests of one worker, oldest first. */
interface Polls {
  takes: Set<HeldTake>;
  stops: Set<HeldCall>;
  declared: number | undefined;
}

export class OpenPolls implements WorkerPolls {
  readonly #byWorker = new Map<string, Polls>();

  /** Holds a take until the returned function is called. */
  holdTake(workerId: string, poll: HeldCall, demand: Demand): () => void {
    const { takes } = this.#of(workerId);
    const take = new HeldTake(poll, demand);
    takes.add(take);
    return () => {
      takes.delete(take);
    };
  }

  /** Holds a stop poll until the returned function is called. */
  holdStop(workerId: string, poll: HeldCall): () => void {
    const { stops } = this.#of(workerId);
    stops.add(poll);
    return () => {
      stops.delete(poll);
    };
  }

  /** Records the concurrency that a worker declares explicitly; `undefined` if it declares none. */
  declare(workerId: string, concurrency: number | undefined): void {
    this.#of(workerId).declared = concurrency;
  }

  takes(workerId: string): OpenTake[] {
    return [...(this.#byWorker.get(workerId)?.takes ?? [])].filter((take) => !take.isReserved);
  }

  stopPoll(workerId: string): OpenStopPoll | undefined {
    return this.#byWorker.get(workerId)?.stops.values().next().value;
  }

  requested(workerId: string): number {
    let requested = 0;
    for (const take of this.#byWorker.get(workerId)?.takes ?? []) requested += take.isReserved ? 0 : take.requested;
    return requested;
  }

  declared(workerId: string): number | undefined {
    return this.#byWorker.get(workerId)?.declared;
  }

  distrust(workerId: string): void {
    const polls = this.#byWorker.get(workerId);
    if (polls) polls.declared = undefined;
  }

  /** Ends all of a worker's requests without content: the worker ends. */
  empty(workerId: string): void {
    const polls = this.#byWorker.get(workerId);
    for (const poll of [...(polls?.takes ?? []), ...(polls?.stops ?? [])]) poll.empty();
  }

  /** Forgets a worker. */
  drop(workerId: string): void {
    this.#byWorker.delete(workerId);
  }

  #of(workerId: string): Polls {
    let polls = this.#byWorker.get(workerId);
    if (!polls) this.#byWorker.set(workerId, (polls = { takes: new Set(), stops: new Set(), declared: undefined }));
    return polls;
  }
}

class HeldTake implements OpenTake {
  readonly requested: number;
  readonly #poll: HeldCall;
  readonly #batch: boolean;
  isReserved = false;

  constructor(poll: HeldCall, { requested, batch }: Demand) {
    this.requested = requested;
    this.#poll = poll;
    this.#batch = batch;
  }

  answer(jobs: readonly JobParts[]): Promise<boolean> {
    const { tracesInJobs = false } = this.#poll;
    const body = this.#batch || jobs.length > 1 ? composeJobs(jobs, tracesInJobs) : composeJob(jobs[0]!);
    return this.#poll.answer(body, tracesInJobs ? undefined : traceHeaders(jobs));
  }

  onOver(listener: () => void): void {
    this.#poll.onOver?.(listener);
  }

  reserve(): void {
    this.isReserved = true;
  }

  empty(): void {
    this.#poll.empty();
  }
}
