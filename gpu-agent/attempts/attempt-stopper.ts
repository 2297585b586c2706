/**
 * Ends attempts on core's request: alone over the worker's stop channel, else together with the worker
 * (docs/reference/worker-protocol.md#stopping). A worker that does not stop an attempt gets nothing new: an SDK that
 * prefetches jobs would hold a new one back until the stopped one is over, and would so keep itself from being killed.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptRef, AttemptStop } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { attemptKey } from '../spool/attempt-key.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import type { Attempt, StopRequest } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holdings } from './holding.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';
import { replaceWorker } from './replace-worker.ts';
import type { StopPolicy } from './stop-policy.ts';
import { decideStop } from './stop-policy.ts';
import type { ToCore } from './to-core.ts';
import type { WorkerPolls } from './worker-polls.ts';
import type { WorkerReporter } from './worker-reporter.ts';

/** Delay before a worker is asked what it still holds, in milliseconds. The SDK needs a moment to cancel a task. */
const PROBE_AFTER_MS = 500;
/**
 * Maximum time for which a worker with a stop channel still gets jobs before it has ended the attempt, in
 * milliseconds.
 */
const OBEY_MS_MAX = 2_000;

/** A worker that began a job within this time, in milliseconds, keeps its prefetched jobs. */
const RECENT_START_MS = 1_000;

/** Dependencies of the stopper. */
interface StopperParts {
  table: AttemptTable;
  holdings: Holdings;
  polls: WorkerPolls;
  pool: WorkerPool;
  outcomes: OutcomeReporter;
  toCore: Pick<ToCore, 'addOutcome'>;
  reporter: WorkerReporter;
  clock: Clock;
  logger: Logger;
  policy: StopPolicy;
  /** Longest time that an attempt may take to end, in milliseconds. */
  graceMs: number;
}

export class AttemptStopper {
  readonly #parts: StopperParts;

  constructor(parts: StopperParts) {
    this.#parts = parts;
  }

  /** Begins to end attempts. An attempt that no worker has seen ends at once. */
  stop(stops: readonly AttemptStop[]): void {
    const { table, outcomes, toCore } = this.#parts;
    for (const { ref } of stops) {
      if (!ref) continue;
      const attempt = table.get(attemptKey(ref));
      if (!attempt) {
        // Core still counts a slot for it; nothing runs here, so nothing needs the disk.
        if (!outcomes.has(attemptKey(ref)))
          toCore.addOutcome({ ref, kind: OutcomeKind.STOPPED, output: undefined, error: '' });
      } else if (attempt.phase !== 'handed') void table.end(attempt, OutcomeKind.STOPPED);
      else if (!attempt.stop) this.#stop(attempt);
    }
  }

  /**
   * Revokes a prefetched job, because another worker could begin it. Does nothing if the worker has just begun a job or
   * is about to be ended anyway.
   */
  revoke(ref: AttemptRef): void {
    const { table, holdings, pool, clock } = this.#parts;
    const worker = pool.get(ref.workerId);
    if (!worker || worker.hasEnded || !table.get(attemptKey(ref))?.prefetched) return;
    const recentMs = clock.monotonicMs() - RECENT_START_MS;
    const running = holdings
      .of(worker.id)
      .all()
      .filter((attempt) => !attempt.prefetched);
    if (running.some(({ stop, beganAtMs = 0 }) => stop !== undefined || beganAtMs > recentMs)) return;
    replaceWorker({ table, holdings }, worker, 'The job before it takes long, and another worker can begin it.');
  }

  /** Asks a worker to stop a job if it has a stop channel. */
  signal(worker: Worker, jobId: string): void {
    if (!worker.sdk.traits.stopChannel) return;
    this.#parts.holdings.of(worker.id).addJobToStop(jobId);
    this.deliver(worker.id);
  }

  /** Sends the jobs to stop in answer to the worker's stop poll, if there are both. */
  deliver(workerId: string): void {
    const { holdings, polls } = this.#parts;
    const holding = holdings.get(workerId);
    const poll = polls.stopPoll(workerId);
    // A worker that must not begin its prefetched jobs would begin them when its job stops. It is killed after the
    // grace period instead.
    if (!poll || !holding || holding.isFinal || holding.jobsToStop.length === 0) return;
    const jobsToStop = holding.takeJobsToStop();
    poll.answer([Buffer.from(JSON.stringify({ jobsToStop }))]).then(
      (delivered) => {
        if (!delivered) holding.putBackJobsToStop(jobsToStop);
      },
      () => {},
    );
  }

  /** Checks attempts that should have ended. Called often. */
  pass(): void {
    const { table, holdings, pool, clock, policy, graceMs } = this.#parts;
    const now = clock.monotonicMs();
    for (const attempt of table.all()) {
      if (!attempt.stop) continue;
      const worker = pool.get(attempt.ref.workerId);
      if (!worker || worker.hasEnded || this.#isEarly(worker, attempt, now)) continue;
      const askedMs = now - attempt.stop.atMs;
      if (askedMs > OBEY_MS_MAX) this.#askAgain(worker, attempt, attempt.stop);
      if (!attempt.stop.blocks && askedMs > OBEY_MS_MAX) this.#block(worker, attempt.stop);
      if (!attempt.stop.probed && askedMs > PROBE_AFTER_MS) this.#probe(worker, attempt.stop);
      const holdsOthers = holdings.of(worker.id).holdsWanted;
      if (decideStop({ policy, askedMs, graceMs, holdsOthers }) === 'kill') {
        const reason = `Ended because job ${attempt.ref.jobId} did not stop within ${graceMs / 1_000} s.`;
        pool.kill(worker, { state: WorkerState.STOPPED, reason });
      }
    }
  }

  /**
   * Ends all attempts at once, with the workers that run them. `isReturn`: they are handed back, which counts as no
   * retry; otherwise started jobs are lost.
   */
  endAll(reason: string, isReturn = false): void {
    const { table, holdings, pool, logger } = this.#parts;
    // The end of one attempt must not begin the next.
    for (const { ref, phase } of table.all()) if (phase === 'handed') holdings.of(ref.workerId).isFinal = true;
    if (table.size > 0)
      logger.error({ ...someAttempts(table.all().map(({ ref }) => ref)), reason }, 'ending all attempts');
    for (const attempt of table.all()) {
      const worker = pool.get(attempt.ref.workerId);
      const wasHanded = attempt.phase === 'handed';
      const isLost = wasHanded && !attempt.prefetched && !isReturn;
      void table.end(attempt, isLost ? OutcomeKind.LOST : OutcomeKind.RETURNED, {
        error: reason,
      });
      if (worker && wasHanded) pool.kill(worker, { state: WorkerState.STOPPED, reason });
    }
  }

  #stop(attempt: Attempt): void {
    const { holdings, pool, clock } = this.#parts;
    const { workerId } = attempt.ref;
    const stop = {
      atMs: clock.monotonicMs(),
      probed: false,
      blocks: false,
      early: attempt.prefetched || attempt.unread || !attempt.flushed,
      unnamed: false,
    };
    holdings.get(workerId)?.stop(attempt, stop);
    const worker = pool.get(workerId);
    if (!worker || stop.early) return;
    this.#ask(worker, attempt, stop);
  }

  #ask(worker: Worker, attempt: Attempt, stop: StopRequest): void {
    if (!worker.sdk.traits.stopChannel) this.#block(worker, stop);
    stop.unnamed = attempt.mayBeUnread;
    this.signal(worker, attempt.ref.jobId);
  }

  /**
   * Asks a second time if the worker has named the job since: a stop that it read before the job had no effect. Call it
   * late: the Python SDK cancels the handler once more, which interrupts the handler's own cleanup.
   */
  #askAgain(worker: Worker, { ref, confirmed }: Attempt, stop: StopRequest): void {
    if (!stop.unnamed || !confirmed) return;
    stop.unnamed = false;
    this.signal(worker, ref.jobId);
  }

  /**
   * Returns true if the job is still prefetched: the worker cannot handle a stop before it begins the job, so
   * everything waits until then. An attempt whose answer is still being written, or that the worker has not read, does
   * not wait, because it may never be read. It is only asked to stop later.
   */
  #isEarly(worker: Worker, attempt: Attempt, now: number): boolean {
    const stop = attempt.stop!;
    if (!stop.early) return false;
    if (attempt.prefetched) return true;
    if (attempt.unread || !attempt.flushed) return false;
    stop.early = false;
    stop.atMs = now;
    this.#ask(worker, attempt, stop);
    return false;
  }

  /** Ends the open takes without jobs: the worker's next take shows what it still holds. */
  #probe(worker: Worker, stop: StopRequest): void {
    stop.probed = true;
    if (worker.sdk.traits.reportsFreeSlots) for (const take of this.#parts.polls.takes(worker.id)) take.empty();
  }

  /** Blocks the worker. Its waiting attempts go back at once: another worker may be free. */
  #block(worker: Worker, stop: StopRequest): void {
    const { reporter, table } = this.#parts;
    stop.blocks = true;
    // Reported before the outcomes, so that core does not give the worker the same jobs again.
    reporter.capacityChanged(worker);
    table.returnWaiting(worker.id, `The worker ${worker.id} takes no more jobs until a stopped job has ended.`);
  }
}
