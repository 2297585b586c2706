/** Seals what a release before sealing left in the clear: once in the life of a database, beside everything else. */
import { Loop } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Service } from '../runtime/service.ts';
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

export class PlainSealer implements Service {
  readonly name = 'plain sealer';
  readonly #options: PlainSealerOptions;
  readonly #loop: Loop;
  readonly #stopping = new AbortController();
  #done = false;

  constructor(options: PlainSealerOptions) {
    this.#options = options;
    this.#loop = new Loop({ ...options, name: this.name, periodMs: PERIOD_MS, pass: () => this.#pass() });
  }

  async start(): Promise<void> {
    await this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop.stop();
  }

  async #pass(): Promise<void> {
    if (this.#done) return;
    const { stores, logger } = this.#options;
    const rows = await stores.plainRows.seal(this.#stopping.signal);
    this.#done = true;
    if (rows > 0) logger.info({ rows }, 'sealed what an earlier release had stored in the clear');
  }
}
