/** Keeps the logs of scaling and of traffic within their bounds: what is old or too much goes. Between two passes an endpoint may have some more. */
import { LoopService } from '../runtime/loop-service.ts';
import type { SingletonTask } from '../runtime/loop.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Stores } from '../store/storage.ts';

export interface DecisionReaperOptions {
  stores: Pick<Stores, 'scales' | 'traffic'>;
  /** Default: it is this replica's. */
  task?: SingletonTask;
  clock: Clock;
  random: Random;
  logger: Logger;
}

const PERIOD_MS = 300_000;
const BATCH_ITEMS_MAX = 5_000;

export class DecisionReaper extends LoopService {
  readonly #options: DecisionReaperOptions;

  constructor(options: DecisionReaperOptions) {
    super({ ...options, name: 'decision reaper', periodMs: PERIOD_MS });
    this.#options = options;
  }

  protected override async pass(): Promise<boolean> {
    return (await this.runOnce()) >= BATCH_ITEMS_MAX;
  }

  /** Deletes one batch of both. Number of rows of the larger one. */
  async runOnce(): Promise<number> {
    const { scales, traffic } = this.#options.stores;
    return Math.max(await scales.reapLog(BATCH_ITEMS_MAX), await traffic.reap(BATCH_ITEMS_MAX));
  }
}
