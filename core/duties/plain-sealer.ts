/** Seals what a release before sealing left in the clear: once in the life of a database, beside everything else. */
import { Loop } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { BaseService } from '../runtime/service.ts';
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

export class PlainSealer extends BaseService {
  readonly name = 'plain sealer';
  readonly #options: PlainSealerOptions;
  readonly #loop: Loop;
  #done = false;

  constructor(options: PlainSealerOptions) {
    super();
    this.#options = options;
    this.#loop = new Loop({ ...options, name: this.name, periodMs: PERIOD_MS, pass: () => this.#pass() });
  }

  protected override onStart(): Promise<void> {
    return this.#loop.start();
  }

  protected override onStop(): Promise<void> {
    return this.#loop.stop();
  }

  async #pass(): Promise<void> {
    if (this.#done) return;
    const { stores, logger } = this.#options;
    const rows = await stores.plainRows.seal(this.ending);
    this.#done = true;
    if (rows > 0) logger.info({ rows }, 'sealed what an earlier release had stored in the clear');
  }
}
