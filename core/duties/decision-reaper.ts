/** Keeps the logs of scaling and of traffic within their bounds: what is old or too much goes. Between two passes an endpoint may have some more. */
import { Loop } from '../runtime/loop.ts';
import type { Duty } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { BaseService } from '../runtime/service.ts';
import type { Stores } from '../store/storage.ts';

/** What reaping needs. */
export interface DecisionReaperOptions {
  stores: Pick<Stores, 'scales' | 'traffic'>;
  /** Default: it is this replica's. */
  duty?: Duty;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const PERIOD_MS = 300_000;
const BATCH_ITEMS_MAX = 5_000;

export class DecisionReaper extends BaseService {
  readonly name = 'decision reaper';
  readonly #options: DecisionReaperOptions;
  readonly #loop: Loop;

  constructor(options: DecisionReaperOptions) {
    super();
    this.#options = options;
    this.#loop = new Loop({ ...options, name: this.name, periodMs: PERIOD_MS, pass: async () => (await this.runOnce()) >= BATCH_ITEMS_MAX });
  }

  protected override onStart(): Promise<void> {
    return this.#loop.start();
  }

  protected override onStop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Deletes one batch of both. Number of rows of the larger one. */
  async runOnce(): Promise<number> {
    const { scales, traffic } = this.#options.stores;
    return Math.max(await scales.reapLog(BATCH_ITEMS_MAX), await traffic.reap(BATCH_ITEMS_MAX));
  }
}
