/**
 * Notices attempts that nothing happens to: a job that its worker never asks for goes back, a job nobody hears of is
 * lost.
 */

import type { Clock } from '@slipway/kit/time/clock';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { Worker } from '../units/workers/worker.ts';
import type { WorkerPool } from '../units/workers/worker-pool.ts';
import type { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import type { Holdings } from './holding.ts';
import type { ToCore } from './to-core.ts';
import type { WorkerPolls } from './worker-polls.ts';

/** How long an attempt may wait for its worker's next take, in milliseconds. */
const TAKE_WAIT_MS_MAX = 10_000;
/** One that was given ahead goes to another worker sooner. */
const AHEAD_WAIT_MS_MAX = 3_000;
/** How long its input may take to arrive, in milliseconds. */
const FETCH_MS_MAX = 120_000;
/** How long an attempt may be in hand before core hears of it, and after how long again, in milliseconds. */
const IN_HAND_MS = 2_000;
const IN_HAND_AGAIN_MS = 1_000;

export class AttemptWatch {
  readonly #table: AttemptTable;
  readonly #pool: WorkerPool;
  readonly #polls: WorkerPolls;
  readonly #toCore: Pick<ToCore, 'addWaiting'>;
  readonly #holdings: Holdings;
  readonly #look: (worker: Worker) => void;
  readonly #clock: Clock;

  /** `look`: the room of a worker may have changed with time. */
  constructor(options: {
    toCore: Pick<ToCore, 'addWaiting'>;
    table: AttemptTable;
    pool: WorkerPool;
    polls: WorkerPolls;
    holdings: Holdings;
    look(worker: Worker): void;
    clock: Clock;
  }) {
    this.#table = options.table;
    this.#pool = options.pool;
    this.#polls = options.polls;
    this.#toCore = options.toCore;
    this.#holdings = options.holdings;
    this.#look = (worker) => options.look(worker);
    this.#clock = options.clock;
  }

  /** Called often. */
  pass(): void {
    const now = this.#clock.monotonicMs();
    for (const attempt of this.#table.all()) {
      const worker = this.#pool.get(attempt.ref.workerId);
      if (!worker) continue;
      if (attempt.phase === 'handed') {
        if (attempt.inHand || attempt.unread) {
          this.#tell(attempt, now);
          continue;
        }
        if (attempt.beganAtMs !== undefined) this.#holdings.get(worker.id)?.pace.runs(now - attempt.beganAtMs);
        // Without an end of that answer the worker can still read it: only its end, or the job's own timeout, ends the
        // wait.
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
      } else if (attempt.ahead) {
        this.#keep(attempt, now - attempt.waitingSinceMs, now);
      } else if (now - attempt.waitingSinceMs > (attempt.phase === 'fetching' ? FETCH_MS_MAX : TAKE_WAIT_MS_MAX)) {
        // Until it asks again it has no room, whatever it declared.
        this.#polls.distrust(worker.id);
        void this.#table.end(attempt, OutcomeKind.RETURNED, {
          error: `The worker ${worker.id} did not ask for the job.`,
        });
      }
    }
    for (const worker of this.#pool.all()) if (this.#holdings.get(worker.id)?.pace.canBe) this.#look(worker);
  }

  /** It waits here for a worker that is busy for longer than was thought. */
  #keep(attempt: Attempt, waitedMs: number, now: number): void {
    if (waitedMs > AHEAD_WAIT_MS_MAX)
      void this.#table.end(attempt, OutcomeKind.RETURNED, { error: 'The jobs before it took longer than expected.' });
    else if (waitedMs > IN_HAND_MS) this.#tell(attempt, now);
  }

  #tell(attempt: Attempt, now: number): void {
    if (now - attempt.handedAtMs < IN_HAND_MS || now - attempt.waitingToldMs < IN_HAND_AGAIN_MS) return;
    attempt.waitingToldMs = now;
    this.#toCore.addWaiting(attempt.ref);
  }
}
