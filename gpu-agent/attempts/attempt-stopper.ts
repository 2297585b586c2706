/**
 * Ends attempts because core said so: alone over the worker's stop channel, else with its worker
 * (docs/reference/worker-protocol.md#stopping). A worker that does not stop an attempt gets nothing new: an SDK that
 * takes jobs ahead would hold a new one back until the stopped one is over, and so keep itself from being killed.
 */

import type { Logger } from '@slipway/kit/log/logger';
import { someAttempts } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptRef, AttemptStop } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { WorkerState } from '@slipway/proto/gen/slipway/v1/machine';
import { attemptKey } from '../spool/attempt-key.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { WorkerPool } from '../units/workers/worker-pool.ts';
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

/** After this long a worker is asked what it still holds, in milliseconds: the SDK needs a moment to cancel a task. */
const PROBE_AFTER_MS = 500;
/** How long a worker that can hear a stop may go on getting jobs before it has ended the attempt, in milliseconds. */
const OBEY_MS_MAX = 2_000;

/** A worker that began something so short a time ago, in milliseconds, goes on with what it has in hand. */
const GOING_ON_MS = 1_000;

/** What it works with. */
export interface StopperParts {
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
  /** How long an attempt may take to end, in milliseconds. */
  graceMs: number;
}

export class AttemptStopper {
  readonly #parts: StopperParts;

  constructor(parts: StopperParts) {
    this.#parts = parts;
  }

  /** Begins to end attempts. One that no worker has seen ends at once. */
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
   * Another worker could begin what this one's worker has in hand. Nothing happens when that goes on meanwhile, or is
   * about to be ended anyway.
   */
  recall(ref: AttemptRef): void {
    const { table, holdings, pool, clock } = this.#parts;
    const worker = pool.get(ref.workerId);
    if (!worker || worker.hasEnded || !table.get(attemptKey(ref))?.inHand) return;
    const goesOnMs = clock.monotonicMs() - GOING_ON_MS;
    const running = holdings
      .of(worker.id)
      .all()
      .filter((attempt) => !attempt.inHand);
    if (running.some(({ stop, beganAtMs = 0 }) => stop !== undefined || beganAtMs > goesOnMs)) return;
    replaceWorker({ table, holdings }, worker, 'The job before it takes long, and another worker can begin it.');
  }

  /** Tells a worker to stop a job, when it can hear it. */
  signal(worker: Worker, jobId: string): void {
    if (!worker.sdk.traits.stopChannel) return;
    this.#parts.holdings.of(worker.id).tellToStop(jobId);
    this.deliver(worker.id);
  }

  /** Answers a stop poll with the jobs to stop, when there is both. */
  deliver(workerId: string): void {
    const { holdings, polls } = this.#parts;
    const holding = holdings.get(workerId);
    const poll = polls.stopPoll(workerId);
    // One that must not begin what it has in hand does so when its job stops: it is killed instead, after the grace.
    if (!poll || !holding || holding.isFinal || holding.jobsToStop.length === 0) return;
    const jobsToStop = holding.takeJobsToStop();
    poll.answer([Buffer.from(JSON.stringify({ jobsToStop }))]).then(
      (delivered) => {
        if (!delivered) holding.putBackJobsToStop(jobsToStop);
      },
      () => {},
    );
  }

  /** Looks after attempts that should have ended. Called often. */
  pass(): void {
    const { table, holdings, pool, clock, policy, graceMs } = this.#parts;
    const now = clock.monotonicMs();
    for (const attempt of table.all()) {
      if (!attempt.stop) continue;
      const worker = pool.get(attempt.ref.workerId);
      if (!worker || worker.hasEnded || this.#isEarly(worker, attempt, now)) continue;
      const askedMs = now - attempt.stop.atMs;
      if (!attempt.stop.blocks && askedMs > OBEY_MS_MAX) this.#block(worker, attempt.stop);
      if (!attempt.stop.probed && askedMs > PROBE_AFTER_MS) this.#probe(worker, attempt.stop);
      const holdsOthers = holdings.of(worker.id).holdsWanted;
      if (decideStop({ policy, askedMs, graceMs, holdsOthers }) === 'kill') {
        const reason = `Ended because job ${attempt.ref.jobId} did not stop within ${graceMs} ms.`;
        pool.kill(worker, { state: WorkerState.STOPPED, reason });
      }
    }
  }

  /** Ends all attempts at once, with the workers that run them. */
  endAll(reason: string): void {
    const { table, holdings, pool, logger } = this.#parts;
    // The end of one must not begin the next.
    for (const { ref, phase } of table.all()) if (phase === 'handed') holdings.of(ref.workerId).isFinal = true;
    if (table.size > 0)
      logger.error({ ...someAttempts(table.all().map(({ ref }) => ref)), reason }, 'ending all attempts');
    for (const attempt of table.all()) {
      const worker = pool.get(attempt.ref.workerId);
      const wasHanded = attempt.phase === 'handed';
      void table.end(attempt, wasHanded && !attempt.inHand ? OutcomeKind.LOST : OutcomeKind.RETURNED, {
        error: reason,
      });
      if (worker && wasHanded) pool.kill(worker, { state: WorkerState.STOPPED, reason });
    }
  }

  #stop(attempt: Attempt): void {
    const { holdings, pool, clock } = this.#parts;
    const { workerId } = attempt.ref;
    const stop = { atMs: clock.monotonicMs(), probed: false, blocks: false, early: attempt.inHand || attempt.unread };
    holdings.get(workerId)?.stop(attempt, stop);
    const worker = pool.get(workerId);
    if (!worker || stop.early) return;
    this.#ask(worker, attempt, stop);
  }

  #ask(worker: Worker, { ref }: Attempt, stop: StopRequest): void {
    if (!worker.sdk.traits.stopChannel) this.#block(worker, stop);
    this.signal(worker, ref.jobId);
  }

  /**
   * The worker has it in hand: it cannot hear of it before it begins, and all waits until then. One that it has not
   * read does not wait, as it may never.
   */
  #isEarly(worker: Worker, attempt: Attempt, now: number): boolean {
    const stop = attempt.stop!;
    if (!stop.early) return false;
    if (attempt.inHand) return true;
    if (attempt.unread) return false;
    stop.early = false;
    stop.atMs = now;
    this.#ask(worker, attempt, stop);
    return false;
  }

  /** Its next take says what it holds by then. */
  #probe(worker: Worker, stop: StopRequest): void {
    stop.probed = true;
    if (worker.sdk.traits.tellsFreeSlots) for (const take of this.#parts.polls.takes(worker.id)) take.empty();
  }

  /** What waits for the worker goes back at once: another one may be free. */
  #block(worker: Worker, stop: StopRequest): void {
    const { reporter, table } = this.#parts;
    stop.blocks = true;
    // Before the outcomes: core must not give the worker the same jobs again.
    reporter.capacityChanged(worker);
    table.returnWaiting(worker.id, `The worker ${worker.id} takes no more jobs until one that was stopped has ended.`);
  }
}
