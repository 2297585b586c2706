/** Table of all attempts that this agent holds, and the only way in which they end. */

import type { Logger } from '@slipway/kit/log/logger';
import type { Clock } from '@slipway/kit/time/clock';
import type { AttemptRef, OutcomeKind } from '@slipway/proto/gen/slipway/v1/agent_service';
import { OutcomeKind as Kind, LossCause } from '@slipway/proto/gen/slipway/v1/agent_service';
import { enumName } from '@slipway/proto/wire/enum-name';
import type { Attempt } from './attempt.ts';
import type { ChunkLog } from './chunk-log.ts';
import type { Holdings } from './holding.ts';
import type { OutcomeReporter } from './outcome-reporter.ts';
import type { RunRecorder } from './run-recorder.ts';

/** Details of an outcome besides its kind. */
interface Ending {
  output?: Buffer | undefined;
  error?: string;
  /** Only for LOST. */
  cause?: LossCause;
  /** The worker will be replaced: its duration is no measure for the next one. */
  unmeasured?: boolean;
  /** No caller waits until the outcome is on disk. */
  mayWait?: boolean;
}

/** Called when an attempt ends. */
export type AttemptEnd = (kind: OutcomeKind, attempt: Attempt) => void;

export class AttemptTable {
  readonly #attempts = new Map<string, Attempt>();
  readonly #holdings: Holdings;
  readonly #outcomes: OutcomeReporter;
  readonly #chunks: ChunkLog;
  readonly #recorder: Pick<RunRecorder, 'ended'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onEnd: AttemptEnd;
  readonly #listeners: ((workerId: string) => void)[] = [];

  /** `onEnd` is called when an attempt ends, before its worker may continue. Default: none. */
  constructor(options: {
    holdings: Holdings;
    outcomes: OutcomeReporter;
    chunks: ChunkLog;
    recorder: Pick<RunRecorder, 'ended'>;
    clock: Clock;
    logger: Logger;
    onEnd?: AttemptEnd | undefined;
  }) {
    this.#clock = options.clock;
    this.#holdings = options.holdings;
    this.#outcomes = options.outcomes;
    this.#chunks = options.chunks;
    this.#recorder = options.recorder;
    this.#logger = options.logger;
    this.#onEnd = options.onEnd ?? (() => undefined);
  }

  /** Calls `listener` whenever an attempt has left its worker. */
  listen(listener: (workerId: string) => void): void {
    this.#listeners.push(listener);
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

  /** Adds an attempt. */
  add(attempt: Attempt): void {
    this.#attempts.set(attempt.key, attempt);
  }

  /**
   * Returns all attempts that core should know about: held ones, and ended ones that are not
   * acknowledged.
   */
  refs(): AttemptRef[] {
    return [...this.all().map((attempt) => attempt.ref), ...this.#outcomes.refs()];
  }

  /** Ends an attempt. The first end counts, later ones do nothing. Resolves once the outcome is safe. */
  end(attempt: Attempt, kind: OutcomeKind, ending: Ending = {}): Promise<void> {
    if (attempt.phase === 'ended') return Promise.resolve();
    attempt.phase = 'ended';
    attempt.dropInput();
    this.#attempts.delete(attempt.key);
    const { workerId } = attempt.ref;
    const holding = this.#holdings.get(workerId);
    holding?.leave(attempt);
    const nowMs = this.#clock.monotonicMs();
    const next = holding?.beginNext(nowMs) ?? [];
    // The last chunks only matter if the attempt's result counts.
    if (kind !== Kind.COMPLETED && kind !== Kind.FAILED) {
      this.#chunks.forget(attempt.key);
      // Core has stopped or will repeat the others: its line about the job says how that ended.
      this.#logger[kind === Kind.LOST ? 'info' : 'debug'](
        { ...attempt.ref, kind: enumName(Kind, kind), reason: ending.error },
        'attempt ended without a result',
      );
    } else if (this.#logger.isLevelEnabled('debug'))
      this.#logger.debug({ ...attempt.ref, kind: enumName(Kind, kind) }, 'attempt ended with a result');
    const reported =
      (kind === Kind.COMPLETED || kind === Kind.FAILED) && attempt.beganAtMs !== undefined && !ending.unmeasured;
    const executionMs = reported ? Math.round(nowMs - attempt.beganAtMs!) : undefined;
    if (attempt.beganAtMs !== undefined && !ending.unmeasured) holding?.pace.ended(executionMs);
    const outcome = {
      ref: attempt.ref,
      kind,
      output: ending.output,
      error: ending.error ?? '',
      executionMs,
      cause: ending.cause,
    };
    const safe = this.#outcomes.report(outcome, { mayWait: ending.mayWait, key: attempt.key });
    // The worker continues once it is answered.
    if (next.length > 0)
      void safe.then(() => {
        for (const begun of next) begun.begin(this.#clock.monotonicMs());
      });
    if (attempt.isKept) void safe.then(() => this.#recorder.ended(attempt));
    this.#onEnd(kind, attempt);
    for (const listener of this.#listeners) listener(workerId);
    return safe;
  }

  /**
   * Ends the attempts that a worker held when its process ended. Returns attempts that it never saw. If it ran several
   * attempts, it is unknown which one used up the memory.
   */
  endAllOf(workerId: string, cause: string, ranOutOfMemory = false): void {
    this.returnWaiting(workerId, cause);
    // The end of one attempt must not begin the next.
    const held = this.#holdings.get(workerId);
    if (held) held.isFinal = true;
    const all = this.#holdings.get(workerId)?.all() ?? [];
    const isAlone = all.filter((attempt) => !attempt.prefetched && !attempt.unread).length === 1;
    for (const attempt of all) {
      if (attempt.stop) void this.end(attempt, Kind.STOPPED);
      else if (attempt.prefetched || attempt.unread) void this.end(attempt, Kind.RETURNED, { error: cause });
      else
        void this.end(attempt, Kind.LOST, {
          error: cause,
          ...(ranOutOfMemory && isAlone && { cause: LossCause.OUT_OF_MEMORY }),
        });
    }
  }

  /** Returns the attempts that the worker never saw. */
  returnWaiting(workerId: string, cause: string): void {
    for (const attempt of this.all()) {
      if (attempt.ref.workerId === workerId && attempt.phase !== 'handed')
        void this.end(attempt, Kind.RETURNED, { error: cause });
    }
  }
}
