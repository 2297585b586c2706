/** Hands waiting attempts to a worker's open takes, and takes them back if the worker left before it had the answer. */

import type { Clock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Worker } from '../workloads/workers/worker.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holding, Holdings } from './holding.ts';
import type { RunRecorder } from './run-recorder.ts';
import type { WorkerCapacity } from './worker-capacity.ts';
import type { OpenTake, WorkerPolls } from './worker-polls.ts';

/** Time for which jobs are gathered for a worker that could not start them at once anyway, in milliseconds. */
const GATHER_MS = 50;

/** Dependencies of the hand-over. */
interface HandOverParts {
  table: AttemptTable;
  holdings: Holdings;
  polls: WorkerPolls;
  workerCapacity: WorkerCapacity;
  recorder: Pick<RunRecorder, 'handed'>;
  clock: Clock;
}

export class HandOver {
  readonly #parts: HandOverParts;

  constructor(parts: HandOverParts) {
    this.#parts = parts;
  }

  /** Serves as many of the worker's takes as it has waiting attempts for. Does nothing if it has none. */
  offer(worker: Worker): void {
    const holding = this.#parts.holdings.get(worker.id);
    if (!holding?.waiting || holding.gathering) return;
    if (worker.sdk.traits.startsLate && holding.size > 0) this.#gather(worker, holding);
    else this.#serve(worker, holding);
  }

  /** Runs `work` while a worker sends the result of an attempt. The result is answered once `work` is done. */
  async whileSent<Result>(worker: Worker, attempt: Attempt | undefined, work: () => Promise<Result>): Promise<Result> {
    const pace = this.#parts.holdings.get(worker.id)?.pace;
    pace?.sends(attempt?.handedAtMs ?? 0);
    const offer = (): void => this.offer(worker);
    this.#parts.clock.soon(offer);
    try {
      return await work();
    } finally {
      pace?.answered();
      // Offered after the answer: the worker must see its free capacity before the jobs.
      this.#parts.clock.soon(offer);
    }
  }

  #gather(worker: Worker, holding: Holding): void {
    holding.gathering = true;
    this.#parts.clock.after(GATHER_MS, () => {
      holding.gathering = false;
      this.#serve(worker, holding);
    });
  }

  #serve(worker: Worker, holding: Holding): void {
    const { polls, workerCapacity, clock } = this.#parts;
    for (const take of polls.takes(worker.id)) {
      const attempts = holding.handOver(
        workerCapacity.takeLimit(worker, take),
        clock.monotonicMs(),
        workerCapacity.keepsAhead(worker),
      );
      if (attempts.length === 0) return;
      holding.pace.gets(attempts.length, attempts[0]!.handedAtMs);
      void this.#answer(worker, take, attempts);
    }
  }

  async #answer(worker: Worker, take: OpenTake, attempts: Attempt[]): Promise<void> {
    const kept = this.#parts.recorder.handed(worker, attempts);
    if (kept) {
      take.reserve();
      await kept;
    }
    const jobs = attempts.flatMap(({ ref, input, s3Config, trace, batchId }) =>
      input ? [{ id: ref.jobId, input, s3Config, traceparent: trace?.handed(), batchId }] : [],
    );
    // All of them ended while that was written.
    if (jobs.length === 0) return take.empty();
    const delivered = await take.answer(jobs);
    for (const attempt of attempts) {
      attempt.dropInput();
      attempt.flushed = delivered;
    }
    // Takes of such a worker overlap, so a later take does not confirm this answer.
    const over = (): void => {
      for (const attempt of attempts) attempt.answerEnded(this.#parts.clock.monotonicMs());
    };
    if (delivered && !worker.sdk.traits.reportsFreeSlots) take.onOver?.(over);
    for (const attempt of attempts) {
      // Anything the worker said about the job in the meantime proves that it has it.
      if (delivered || attempt.confirmed || attempt.phase === 'ended') continue;
      const cause = `The worker ${worker.id} left before it had the job.`;
      await this.#parts.table.end(attempt, attempt.stop ? OutcomeKind.STOPPED : OutcomeKind.RETURNED, { error: cause });
    }
  }
}
