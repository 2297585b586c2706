/** Takes assignments in: gets inputs that were left out, and gives back at once what cannot run here. */
import { OutcomeKind } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Assignment, AttemptRef } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { AttemptTable } from './attempt-table.ts';
import { attemptKey } from '../spool/attempt-key.ts';
import { Attempt } from './attempt.ts';
import type { HandOver } from './hand-over.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';

/** Gets the input of an attempt over a stream of its own. `gone`: core says that the attempt is not current any more. */
export type FetchInput = (ref: AttemptRef) => Promise<Buffer | 'gone'>;

export class Intake {
  readonly #table: AttemptTable;
  readonly #handOver: HandOver;
  readonly #reporter: OutcomeReporter;
  readonly #workerOf: (workerId: string) => Worker | undefined;
  readonly #fetchInput: FetchInput;
  readonly #clock: Clock;

  constructor(options: {
    table: AttemptTable;
    handOver: HandOver;
    reporter: OutcomeReporter;
    workerOf: (workerId: string) => Worker | undefined;
    fetchInput: FetchInput;
    clock: Clock;
  }) {
    this.#table = options.table;
    this.#handOver = options.handOver;
    this.#reporter = options.reporter;
    this.#workerOf = options.workerOf;
    this.#fetchInput = options.fetchInput;
    this.#clock = options.clock;
  }

  /** Takes in the assignments of one message, then serves each worker once, so that one take carries several jobs. */
  assign(assignments: readonly Assignment[]): void {
    const touched = new Set<Worker>();
    const nowMs = this.#clock.monotonicMs();
    for (const { ref, input, s3Config } of assignments) {
      if (!ref || this.#isKnown(ref)) continue;
      const attempt = new Attempt({ ref, input, s3Config, nowMs });
      this.#table.add(attempt);
      const worker = this.#workerOf(ref.workerId);
      if (!worker || worker.isLeaving || worker.isBlocked) {
        void this.#table.end(attempt, OutcomeKind.RETURNED, { error: `The worker ${ref.workerId} takes no more jobs.` });
      } else if (attempt.phase === 'fetching') void this.#fetch(attempt, worker);
      else {
        worker.waiting.push(attempt);
        touched.add(worker);
      }
    }
    for (const worker of touched) this.#handOver.offer(worker);
  }

  #isKnown(ref: AttemptRef): boolean {
    const key = attemptKey(ref);
    return this.#table.get(key) !== undefined || this.#reporter.has(key);
  }

  async #fetch(attempt: Attempt, worker: Worker): Promise<void> {
    const input = await this.#fetchInput(attempt.ref).catch((error: unknown) => error as Error);
    if (attempt.phase === 'ended') return;
    if (input === 'gone') return this.#table.end(attempt, OutcomeKind.STOPPED);
    if (input instanceof Error) {
      return this.#table.end(attempt, OutcomeKind.RETURNED, { error: `The input did not arrive: ${input.message}` });
    }
    attempt.input = input;
    attempt.phase = 'waiting';
    attempt.waitingSinceMs = this.#clock.monotonicMs();
    worker.waiting.push(attempt);
    this.#handOver.offer(worker);
  }
}
