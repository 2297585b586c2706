/** Stores what a meter counted, at intervals and when the service stops. */

import type { LoopOptions } from './loop.ts';
import { LoopService } from './loop-service.ts';

/** Counts in memory. */
interface Meter<Counts> {
  /** Returns and resets the counts. `undefined` if there are none. */
  take(): Counts | undefined;
  /** Adds what `take` returned, because it could not be stored. */
  putBack(counts: Counts): void;
}

/** The answer to a write was lost, so the write may have been done. */
export class LostAnswerError extends Error {
  /** Returns whether the write was done. Rejects while that is unknown. */
  readonly wasStored: () => Promise<boolean>;

  constructor(cause: unknown, wasStored: () => Promise<boolean>) {
    super('the answer to a write was lost', { cause });
    this.name = 'LostAnswerError';
    this.wasStored = wasStored;
  }
}

interface MeterWriterOptions<Counts> extends Omit<LoopOptions, 'pass'> {
  meter: Meter<Counts>;
  /** Stores the counts of the last `spanMs` milliseconds. Throws LostAnswerError if it may have stored them. */
  store(counts: Counts, spanMs: number): Promise<void>;
}

/** Counts of a write whose answer was lost. */
interface UnsureCounts<Counts> {
  counts: Counts;
  untilMs: number;
  wasStored: () => Promise<boolean>;
}

/**
 * Stores the counts of each pass, if there are any. Counts that could not be stored are part of the next pass. After a
 * lost answer it stores nothing until it knows whether that write was done, so that no count is stored twice.
 */
export class MeterWriter<Counts> extends LoopService {
  readonly #options: MeterWriterOptions<Counts>;
  #sinceMs = 0;
  #unsure: UnsureCounts<Counts> | undefined;

  constructor(options: MeterWriterOptions<Counts>) {
    super(options);
    this.#options = options;
  }

  protected override onStart(): Promise<void> {
    this.#sinceMs = this.#options.clock.monotonicMs();
    return super.onStart();
  }

  /** Stores what was counted since the last pass before the service stops. */
  protected override async onStop(): Promise<void> {
    await super.onStop();
    await this.pass().catch((error: unknown) =>
      this.#options.logger.debug({ err: error }, `the last counts of the ${this.name} were not stored`),
    );
  }

  protected override async pass(): Promise<void> {
    const { meter, store, clock } = this.#options;
    await this.#resolve();
    const nowMs = clock.monotonicMs();
    const spanMs = Math.max(Math.round(nowMs - this.#sinceMs), 1);
    const taken = meter.take();
    if (taken !== undefined)
      await store(taken, spanMs).catch((error: unknown) => {
        if (error instanceof LostAnswerError)
          this.#unsure = { counts: taken, untilMs: nowMs, wasStored: error.wasStored };
        else meter.putBack(taken);
        throw error;
      });
    this.#sinceMs = nowMs;
  }

  async #resolve(): Promise<void> {
    const unsure = this.#unsure;
    if (!unsure) return;
    const wasStored = await unsure.wasStored();
    this.#unsure = undefined;
    if (wasStored) this.#sinceMs = unsure.untilMs;
    else this.#options.meter.putBack(unsure.counts);
  }
}
