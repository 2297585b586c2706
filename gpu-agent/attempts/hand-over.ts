/** Gives waiting attempts to a worker's open takes, and takes them back when the worker left before it had the answer. */
import { OutcomeKind } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { composeJob, composeJobs } from '../bridge/job-body.ts';
import { takeLimit } from '../units/workers/capacity.ts';
import type { Take, Worker } from '../units/workers/worker.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Attempt } from './attempt.ts';

/** How long jobs are gathered for a worker that could not start them anyway, in milliseconds. */
const GATHER_MS = 50;

export class HandOver {
  readonly #table: AttemptTable;
  readonly #clock: Clock;

  constructor(options: { table: AttemptTable; clock: Clock }) {
    this.#table = options.table;
    this.#clock = options.clock;
  }

  /** Answers as many of the worker's takes as it has waiting attempts for. Harmless when it has none. */
  offer(worker: Worker): void {
    if (worker.waiting.length === 0 || worker.gathering) return;
    if (worker.traits.startsLate && worker.held.size > 0) this.#gather(worker);
    else this.#serve(worker);
  }

  #gather(worker: Worker): void {
    worker.gathering = true;
    this.#clock.after(GATHER_MS, () => {
      worker.gathering = false;
      this.#serve(worker);
    });
  }

  #serve(worker: Worker): void {
    for (const take of [...worker.takes]) {
      const jobs = this.#pick(worker, takeLimit(worker.facts(), take.requested));
      if (jobs.length === 0) return;
      void this.#answer(worker, take, jobs);
    }
  }

  #pick(worker: Worker, count: number): Attempt[] {
    const picked: Attempt[] = [];
    for (const attempt of worker.waiting) {
      if (picked.length >= count) break;
      // An earlier attempt of the same job may still run here: the worker names jobs only, so the two could not be told apart.
      if (!worker.held.has(attempt.ref.jobId)) picked.push(attempt);
    }
    const now = this.#clock.monotonicMs();
    for (const attempt of picked) {
      worker.waiting.splice(worker.waiting.indexOf(attempt), 1);
      worker.held.set(attempt.ref.jobId, attempt);
      // One that was refused for its output is stopped after its end: not when the worker gets the job again.
      worker.jobsToStop.delete(attempt.ref.jobId);
      attempt.phase = 'handed';
      attempt.handedAtMs = now;
    }
    return picked;
  }

  async #answer(worker: Worker, take: Take, attempts: Attempt[]): Promise<void> {
    const jobs = attempts.map((attempt) => ({ id: attempt.ref.jobId, input: attempt.input!, s3Config: attempt.s3Config }));
    const body = take.batch ? composeJobs(jobs) : composeJob(jobs[0]!);
    const delivered = await take.poll.answer(body);
    for (const attempt of attempts) {
      attempt.input = undefined;
      attempt.flushed = delivered;
      // Whatever the worker said about the job in the meantime proves that it has it.
      if (delivered || attempt.confirmed || attempt.phase === 'ended') continue;
      const cause = `The worker ${worker.id} left before it had the job.`;
      await this.#table.end(attempt, attempt.stop ? OutcomeKind.STOPPED : OutcomeKind.RETURNED, { error: cause });
    }
  }
}
