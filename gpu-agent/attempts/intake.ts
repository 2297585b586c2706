/** Accepts assignments: fetches inputs that were left out, and returns at once what cannot run here. */

import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { BudgetFill } from '@slipway/kit/observe/budget-metrics';
import type { Tracing } from '@slipway/kit/observe/tracing';
import type { Clock } from '@slipway/kit/time/clock';
import type { Assignment, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { attemptKey } from '../spool/attempt-key.ts';
import type { Worker } from '../workloads/workers/worker.ts';
import type { WorkerPool } from '../workloads/workers/worker-pool.ts';
import { Attempt } from './attempt.ts';
import type { AttemptTable } from './attempt-table.ts';
import { AttemptTrace } from './attempt-trace.ts';
import type { HandOver } from './hand-over.ts';
import type { Holdings } from './holding.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';
import type { LargeToCore } from './to-core.ts';

/**
 * Bytes of one worker's inputs that were fetched and not handed over: enough for three of the largest. A worker can be
 * given a thousand jobs at once. One that asks for as many and takes none must not fill the agent's memory. The other
 * inputs stay where they are until it has taken some.
 */
const FETCHED_BYTES_MAX = 64 * 1024 * 1024;

/** Dependencies of the intake. */
interface IntakeParts {
  table: AttemptTable;
  handOver: HandOver;
  holdings: Holdings;
  outcomes: OutcomeReporter;
  pool: WorkerPool;
  large: Pick<LargeToCore, 'fetchInput'>;
  /** The permission to run attempts. */
  lease: { readonly isHeld: boolean };
  /** `undefined` if nothing is traced here. */
  tracing?: Tracing | undefined;
  clock: Clock;
}

export class Intake {
  readonly #parts: IntakeParts;
  /** The total is not bounded: core decides how many workers there are. */
  readonly #budget = new MemoryBudget({ bytesMax: Infinity, ownerBytesMax: FETCHED_BYTES_MAX });

  constructor(parts: IntakeParts) {
    this.#parts = parts;
  }

  /** Bytes of fetched inputs, for the worker with the most. */
  get fill(): BudgetFill {
    return this.#budget.fill;
  }

  /** Accepts the assignments of one message, then serves each worker once, so that one take carries several jobs. */
  assign(assignments: readonly Assignment[]): void {
    const { table, handOver, holdings, pool, lease, clock } = this.#parts;
    const touched = new Set<Worker>();
    const nowMs = clock.monotonicMs();
    for (const { ref, input, inputSize, s3Config, ahead, traceparent, batchId } of assignments) {
      if (!ref || this.#isKnown(ref)) continue;
      const attempt = new Attempt({ ref, input: input && [input], s3Config, nowMs, prefetch: ahead });
      attempt.batchId = batchId;
      if (traceparent !== undefined) attempt.trace = new AttemptTrace(this.#parts.tracing, traceparent, ref);
      table.add(attempt);
      const worker = pool.get(ref.workerId);
      // Core counts its lease from a later time. Without one, no timer would end the attempt when core is gone.
      if (!lease.isHeld) void table.end(attempt, OutcomeKind.RETURNED, { error: 'The agent holds no lease.' });
      else if (!worker || worker.isLeaving || holdings.of(worker.id).isBlocked) {
        void table.end(attempt, OutcomeKind.RETURNED, { error: `The worker ${ref.workerId} takes no more jobs.` });
      } else if (attempt.phase === 'fetching' && ahead) {
        void table.end(attempt, OutcomeKind.RETURNED, { error: 'Its input is too large to wait here for its worker.' });
      } else if (attempt.phase === 'fetching') {
        const bytes = Math.min(inputSize || FETCHED_BYTES_MAX, FETCHED_BYTES_MAX);
        attempt.permit = this.#budget.acquire(worker.id, bytes, () => void this.#fetch(attempt, worker));
      } else {
        holdings.of(worker.id).wait(attempt);
        touched.add(worker);
      }
    }
    for (const worker of touched) handOver.offer(worker);
  }

  #isKnown(ref: AttemptRef): boolean {
    const key = attemptKey(ref);
    return this.#parts.table.get(key) !== undefined || this.#parts.outcomes.has(key);
  }

  async #fetch(attempt: Attempt, worker: Worker): Promise<void> {
    const { table, handOver, holdings, large, clock } = this.#parts;
    // The end of one attempt frees budget, and the end of this one may be about to follow.
    await Promise.resolve();
    const hasEnded = (): boolean => attempt.phase === 'ended';
    if (hasEnded()) return;
    // The budget stays taken until the bytes are here, whatever becomes of the attempt.
    const { permit } = attempt;
    attempt.permit = undefined;
    const input = await large.fetchInput(attempt.ref).catch((error: unknown) => error as Error);
    if (hasEnded()) return permit?.release();
    attempt.permit = permit;
    if (input === 'gone') return table.end(attempt, OutcomeKind.STOPPED);
    if (input instanceof Error) {
      return table.end(attempt, OutcomeKind.RETURNED, { error: `The input did not arrive: ${input.message}` });
    }
    attempt.input = input;
    attempt.phase = 'waiting';
    attempt.waitingSinceMs = clock.monotonicMs();
    holdings.of(worker.id).wait(attempt);
    handOver.offer(worker);
  }
}
