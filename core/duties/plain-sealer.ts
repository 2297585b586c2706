/** Seals what a release before sealing left in the clear: once in the life of a database, beside everything else. */
import { LoopService } from '../runtime/loop-service.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Stores } from '../store/storage.ts';

/** What sealing needs. */
export interface PlainSealerOptions {
  stores: Pick<Stores, 'plainRows'>;
  clock: Clock;
  random: Random;
  logger: Logger;
}

/** Pause after a failure, in milliseconds. */
const PERIOD_MS = 5_000;

export class PlainSealer extends LoopService {
  readonly #options: PlainSealerOptions;
  #done = false;

  constructor(options: PlainSealerOptions) {
    super({ ...options, name: 'plain sealer', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<void> {
    if (this.#done) return;
    const { stores, logger } = this.#options;
    const rows = await stores.plainRows.seal(this.ending);
    this.#done = true;
    if (rows > 0) logger.info({ rows }, 'sealed what an earlier release had stored in the clear');
  }
}
