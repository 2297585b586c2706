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

interface MeterWriterOptions<Counts> extends Omit<LoopOptions, 'pass'> {
  meter: Meter<Counts>;
  /** Stores the counts of the last `spanMs` milliseconds. */
  store(counts: Counts, spanMs: number): Promise<void>;
}

/**
 * Stores nothing if nothing was counted. Counts that could not be stored are part of the next pass. They may be stored
 * twice if the database committed them and its answer was lost.
 */
export class MeterWriter<Counts> extends LoopService {
  readonly #options: MeterWriterOptions<Counts>;
  #sinceMs = 0;

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
    const nowMs = clock.monotonicMs();
    const spanMs = Math.max(Math.round(nowMs - this.#sinceMs), 1);
    const taken = meter.take();
    if (taken !== undefined)
      await store(taken, spanMs).catch((error: unknown) => {
        meter.putBack(taken);
        throw error;
      });
    this.#sinceMs = nowMs;
  }
}
