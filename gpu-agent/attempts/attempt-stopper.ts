/**
 * Ends attempts because core said so: alone over the worker's stop channel, else with its worker (docs/worker-protocol.md#stopping). A worker
 * that does not stop an attempt gets nothing new: an SDK that takes jobs ahead would hold a new one back until the stopped one is over, and so keep
 * itself from being killed.
 */
import { OutcomeKind } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { AttemptStop } from '../../proto/gen/slipway/v1/agent_service.ts';
import { WorkerState } from '../../proto/gen/slipway/v1/machine.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Outbox } from '../session/outbox.ts';
import type { WorkerPool } from '../units/workers/worker-pool.ts';
import type { WorkerReporter } from './worker-reporter.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { AttemptTable } from './attempt-table.ts';
import { attemptKey } from '../spool/attempt-key.ts';
import type { StopRequest } from './attempt.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';
import { decideStop } from './stop-policy.ts';
import type { StopPolicy } from './stop-policy.ts';

/** After this long a worker is asked what it still holds, in milliseconds: the SDK needs a moment to cancel a task. */
const PROBE_AFTER_MS = 500;
/** How long a worker that can hear a stop may go on getting jobs before it has ended the attempt, in milliseconds. */
const OBEY_MS_MAX = 2_000;

export class AttemptStopper {
  readonly #table: AttemptTable;
  readonly #pool: WorkerPool;
  readonly #reporter: OutcomeReporter;
  readonly #outbox: Outbox;
  readonly #workers: WorkerReporter;
  readonly #clock: Clock;
  readonly #policy: StopPolicy;
  readonly #graceMs: number;

  constructor(options: {
    table: AttemptTable;
    pool: WorkerPool;
    reporter: OutcomeReporter;
    outbox: Outbox;
    workers: WorkerReporter;
    clock: Clock;
    policy: StopPolicy;
    graceMs: number;
  }) {
    this.#table = options.table;
    this.#pool = options.pool;
    this.#reporter = options.reporter;
    this.#outbox = options.outbox;
    this.#workers = options.workers;
    this.#clock = options.clock;
    this.#policy = options.policy;
    this.#graceMs = options.graceMs;
  }

  /** Begins to end attempts. One that no worker has seen ends at once. */
  stop(stops: readonly AttemptStop[]): void {
    for (const { ref } of stops) {
      if (!ref) continue;
      const attempt = this.#table.get(attemptKey(ref));
      if (!attempt) {
        // Core still counts a slot for it; nothing runs here, so nothing needs the disk.
        if (!this.#reporter.has(attemptKey(ref))) this.#outbox.addOutcome({ ref, kind: OutcomeKind.STOPPED, output: undefined, error: '' });
      } else if (attempt.phase !== 'handed') void this.#table.end(attempt, OutcomeKind.STOPPED);
      else if (!attempt.stop) {
        const worker = this.#pool.get(ref.workerId);
        attempt.stop = { atMs: this.#clock.monotonicMs(), probed: false, blocks: false };
        if (!worker) continue;
        worker.stopping.add(attempt);
        if (!worker.traits.stopChannel) this.#block(worker, attempt.stop);
        this.signal(worker, ref.jobId);
      }
    }
  }

  /** Tells a worker to stop a job, when it can hear it. */
  signal(worker: Worker, jobId: string): void {
    if (!worker.traits.stopChannel) return;
    worker.jobsToStop.add(jobId);
    this.deliver(worker);
  }

  /** Answers a stop poll with the jobs to stop, when there is both. */
  deliver(worker: Worker): void {
    const poll = worker.stopPolls.values().next().value;
    if (!poll || worker.jobsToStop.size === 0) return;
    const jobsToStop = [...worker.jobsToStop];
    worker.jobsToStop.clear();
    poll.answer(Buffer.from(JSON.stringify({ jobsToStop }))).then((delivered) => {
      // Meanwhile the job may have come again, as an attempt that nobody wants to stop.
      if (!delivered) for (const jobId of jobsToStop) if (worker.held.get(jobId)?.stop) worker.jobsToStop.add(jobId);
    }, () => {});
  }

  /** What waits for the worker goes back at once: another one may be free. */
  #block(worker: Worker, stop: StopRequest): void {
    stop.blocks = true;
    // Before the outcomes: core must not give the worker the same jobs again.
    this.#workers.capacityChanged(worker);
    this.#table.returnWaiting(worker, `The worker ${worker.id} takes no more jobs until one that was stopped has ended.`);
  }

  /** Looks after attempts that should have ended. Called often. */
  pass(): void {
    const now = this.#clock.monotonicMs();
    for (const attempt of this.#table.all()) {
      if (!attempt.stop) continue;
      const worker = this.#pool.get(attempt.ref.workerId);
      if (!worker || worker.hasEnded) continue;
      const askedMs = now - attempt.stop.atMs;
      if (!attempt.stop.blocks && askedMs > OBEY_MS_MAX) this.#block(worker, attempt.stop);
      if (!attempt.stop.probed && askedMs > PROBE_AFTER_MS) {
        attempt.stop.probed = true;
        // Its next take says what it holds by then.
        for (const take of [...worker.takes]) if (worker.traits.tellsFreeSlots) take.poll.empty();
      }
      const holdsOthers = [...worker.held.values()].some((other) => !other.stop);
      if (decideStop({ policy: this.#policy, askedMs, graceMs: this.#graceMs, holdsOthers }) === 'kill') {
        const reason = `Ended because job ${attempt.ref.jobId} did not stop within ${this.#graceMs} ms.`;
        this.#pool.kill(worker, { state: WorkerState.STOPPED, reason });
      }
    }
  }
}
