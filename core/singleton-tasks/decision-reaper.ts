/**
 * Trims the logs of scaling decisions, traffic, requests, load, changes and metered time to their limits. Between two
 * passes an endpoint may exceed them a little.
 */

import type { SingletonTask } from '@slipway/kit/lifecycle/loop';
import { LoopService } from '@slipway/kit/lifecycle/loop-service';
import type { Logger } from '@slipway/kit/log/logger';
import type { Clock, Random } from '@slipway/kit/time/clock';
import type { Stores } from '../store/storage.ts';

interface DecisionReaperOptions {
  stores: Pick<Stores, 'scales' | 'traffic' | 'loads' | 'requests' | 'audit' | 'usage'>;
  /** Days for which changes and metered spans are kept. 0 or absent: for ever. */
  config?: { auditDays?: number; usageDays?: number };
  /** Default: this replica always runs the task. */
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

  /** Deletes one batch of each. Returns the largest number of rows. */
  async runOnce(): Promise<number> {
    const { scales, traffic, loads, requests, audit, usage } = this.#options.stores;
    const { auditDays = 0, usageDays = 0 } = this.#options.config ?? {};
    return Math.max(
      await scales.reapLog(BATCH_ITEMS_MAX),
      await traffic.reap(BATCH_ITEMS_MAX),
      await loads.reap(BATCH_ITEMS_MAX),
      await requests.reap(BATCH_ITEMS_MAX),
      await audit.reapRefused(BATCH_ITEMS_MAX),
      auditDays === 0 ? 0 : await audit.reap(auditDays, BATCH_ITEMS_MAX),
      usageDays === 0 ? 0 : await usage.reap(usageDays, BATCH_ITEMS_MAX),
    );
  }
}
