/** All attempts that this agent holds, and the one way in which they end. */
import type { AttemptRef, OutcomeKind } from '../../proto/gen/slipway/v1/agent_service.ts';
import { OutcomeKind as Kind } from '../../proto/gen/slipway/v1/agent_service.ts';
import { enumName } from '../../proto/wire/enum-name.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Worker } from '../units/workers/worker.ts';
import type { Attempt } from './attempt.ts';
import type { ChunkLog } from './chunk-log.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';

/** What belongs to an outcome besides its kind. */
export interface Ending {
  output?: Buffer | undefined;
  error?: string;
}

export class AttemptTable {
  readonly #attempts = new Map<string, Attempt>();
  readonly #workerOf: (workerId: string) => Worker | undefined;
  readonly #reporter: OutcomeReporter;
  readonly #chunks: ChunkLog;
  readonly #logger: Logger;
  /** Called after an attempt left its worker. */
  onEnded: ((worker: Worker) => void) | undefined;

  constructor(options: {
    workerOf: (workerId: string) => Worker | undefined;
    reporter: OutcomeReporter;
    chunks: ChunkLog;
    logger: Logger;
  }) {
    this.#workerOf = options.workerOf;
    this.#reporter = options.reporter;
    this.#chunks = options.chunks;
    this.#logger = options.logger;
  }

  get size(): number {
    return this.#attempts.size;
  }

  get(key: string): Attempt | undefined {
    return this.#attempts.get(key);
  }

  all(): Attempt[] {
    return [...this.#attempts.values()];
  }

  /** Takes an attempt in. */
  add(attempt: Attempt): void {
    this.#attempts.set(attempt.key, attempt);
  }

  /** All that core should know about: what is held, and what ended but is not acknowledged. */
  refs(): AttemptRef[] {
    return [...this.all().map((attempt) => attempt.ref), ...this.#reporter.refs()];
  }

  /**
   * Ends an attempt; the first end counts, later ones do nothing. Resolves once the outcome is safe.
   */
  end(attempt: Attempt, kind: OutcomeKind, ending: Ending = {}): Promise<void> {
    if (attempt.phase === 'ended') return Promise.resolve();
    attempt.phase = 'ended';
    attempt.input = undefined;
    this.#attempts.delete(attempt.key);
    const { jobId, workerId } = attempt.ref;
    const worker = this.#workerOf(workerId);
    if (worker) leave(worker, attempt);
    // Only of an attempt whose result counts do the last chunks matter.
    if (kind !== Kind.COMPLETED && kind !== Kind.FAILED) {
      this.#chunks.forget(attempt.key);
      this.#logger.info({ jobId, workerId, attempt: attempt.ref.attempt, kind: enumName(Kind, kind), reason: ending.error }, 'attempt ended without a result');
    }
    const safe = this.#reporter.report({ ref: attempt.ref, kind, output: ending.output, error: ending.error ?? '' });
    if (worker) this.onEnded?.(worker);
    return safe;
  }

  /** Ends what a worker held when its process ended, and gives back what it never saw. */
  endAllOf(worker: Worker, cause: string): void {
    this.returnWaiting(worker, cause);
    for (const attempt of [...worker.held.values()]) {
      if (attempt.stop) void this.end(attempt, Kind.STOPPED);
      else void this.end(attempt, Kind.LOST, { error: cause });
    }
  }

  /** Gives back what the worker never saw. */
  returnWaiting(worker: Worker, cause: string): void {
    for (const attempt of this.all()) {
      if (attempt.ref.workerId === worker.id && attempt.phase !== 'handed') void this.end(attempt, Kind.RETURNED, { error: cause });
    }
  }
}

function leave(worker: Worker, attempt: Attempt): void {
  const { jobId } = attempt.ref;
  if (worker.held.get(jobId) === attempt) {
    worker.held.delete(jobId);
    // A stop that no poll has carried was for this attempt: it must not meet a later one of the same job.
    worker.jobsToStop.delete(jobId);
  }
  const index = worker.waiting.indexOf(attempt);
  if (index >= 0) worker.waiting.splice(index, 1);
}
