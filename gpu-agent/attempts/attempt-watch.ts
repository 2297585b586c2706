/**
 * Detects attempts without progress. A job that its worker never asks for is returned; a job that the worker is silent
 * about is lost.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Worker } from '../workloads/workers/worker.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holdings } from './holding.ts';
import type { ToCore } from './to-core.ts';
import type { WorkerPolls } from './worker-polls.ts';

/** Longest wait of an attempt for its worker's next take, in milliseconds. */
const TAKE_WAIT_MS_MAX = 10_000;
/** The same for a prefetched attempt, which goes to another worker sooner. */
const AHEAD_WAIT_MS_MAX = 3_000;
/** Longest time until the input of an attempt arrives, in milliseconds. */
const FETCH_MS_MAX = 120_000;
/** Time after which the agent reports that an attempt is still prefetched, and then the interval, in milliseconds. */
const WAITING_AFTER_MS = 2_000;
const WAITING_PERIOD_MS = 1_000;

export class AttemptWatch {
  readonly #table: AttemptTable;
  readonly #pool: WorkerPool;
  readonly #polls: WorkerPolls;
  readonly #toCore: Pick<ToCore, 'addWaiting'>;
  readonly #holdings: Holdings;
  readonly #offer: (worker: Worker) => void;
  readonly #clock: Clock;

  /** `offer` is called when the capacity of a worker may have changed with time. */
  constructor(options: {
    toCore: Pick<ToCore, 'addWaiting'>;
    table: AttemptTable;
    pool: WorkerPool;
    polls: WorkerPolls;
    holdings: Holdings;
    offer(worker: Worker): void;
    clock: Clock;
  }) {
    this.#table = options.table;
    this.#pool = options.pool;
    this.#polls = options.polls;
    this.#toCore = options.toCore;
    this.#holdings = options.holdings;
    this.#offer = (worker) => options.offer(worker);
    this.#clock = options.clock;
  }

  /** Checks all attempts. Called often. */
  pass(): void {
    const now = this.#clock.monotonicMs();
    for (const attempt of this.#table.all()) {
      const worker = this.#pool.get(attempt.ref.workerId);
      if (!worker) continue;
      if (attempt.phase === 'handed') {
        if (attempt.prefetched || attempt.unread) {
          this.#reportWaiting(attempt, now);
          continue;
        }
        if (attempt.beganAtMs !== undefined) this.#holdings.get(worker.id)?.pace.runs(now - attempt.beganAtMs);
        // Without an end of that answer the worker can still read it. Only the worker's end, or the job's own timeout,
        // ends the wait.
        if (
          attempt.confirmed ||
          attempt.mayBeUnread ||
          attempt.stop ||
          now - attempt.silentSinceMs <= worker.sdk.traits.silenceMsMax
        )
          continue;
        void this.#table.end(attempt, OutcomeKind.LOST, {
          error: `The worker ${worker.id} was given the job and went silent.`,
        });
      } else if (attempt.prefetch) {
        this.#keep(attempt, now - attempt.waitingSinceMs, now);
      } else if (now - attempt.waitingSinceMs > (attempt.phase === 'fetching' ? FETCH_MS_MAX : TAKE_WAIT_MS_MAX)) {
        // Until the worker asks again it has no capacity, whatever it declared.
        this.#polls.distrust(worker.id);
        void this.#table.end(attempt, OutcomeKind.RETURNED, {
          error: `The worker ${worker.id} did not ask for the job.`,
        });
      }
    }
    for (const worker of this.#pool.all()) if (this.#holdings.get(worker.id)?.pace.canBe) this.#offer(worker);
  }

  /** Handles a prefetched attempt that waits here for a worker that is busy for longer than expected. */
  #keep(attempt: Attempt, waitedMs: number, now: number): void {
    if (waitedMs > AHEAD_WAIT_MS_MAX)
      void this.#table.end(attempt, OutcomeKind.RETURNED, { error: 'The jobs before it took longer than expected.' });
    else if (waitedMs > WAITING_AFTER_MS) this.#reportWaiting(attempt, now);
  }

  #reportWaiting(attempt: Attempt, now: number): void {
    if (now - attempt.handedAtMs < WAITING_AFTER_MS || now - attempt.waitingReportedMs < WAITING_PERIOD_MS) return;
    attempt.waitingReportedMs = now;
    this.#toCore.addWaiting(attempt.ref);
  }
}
