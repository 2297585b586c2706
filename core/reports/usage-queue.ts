/**
 * Limits concurrent sums of usage: they take seconds in the worst case, and more of them would use up the connections
 * on which leases are extended.
 */

import type { BatchMeter } from '@slipway/kit/bytes/batcher';
import { Batcher } from '@slipway/kit/bytes/batcher';
import type { Clock } from '@slipway/kit/time/clock';
import type { UsageQuery } from '../domain/reports/usage.ts';
import { DomainError } from '../domain/settings/errors.ts';
import type { UsageSums } from '../store/reports/usage-store.ts';
import type { PageRequest } from '../store/sql/page.ts';
import type { Stores } from '../store/storage.ts';

const AT_ONCE_MAX = 2;
const WAITING_MAX = 200;
const OF_ACCOUNT_MAX = 4;

/** A request of an account. */
interface Asked {
  accountId: string;
  query: UsageQuery;
  page: PageRequest | undefined;
}

export class UsageQueue {
  readonly #sums: Batcher<Asked, UsageSums>;
  /** Calls that wait or run, by account. */
  readonly #asking = new Map<string, number>();

  /** `meter`: counts batches. Default: not counted. */
  constructor({ usage }: Pick<Stores, 'usage'>, clock: Clock, meter?: BatchMeter) {
    const flush = async ([asked]: Asked[]): Promise<UsageSums[]> => [
      await usage.list(asked!.accountId, asked!.query, asked!.page),
    ];
    this.#sums = new Batcher({
      name: 'usage',
      clock,
      meter,
      itemsMax: 1,
      waitingMax: WAITING_MAX,
      flushesMax: AT_ONCE_MAX,
      flush,
    });
  }

  /**
   * Runs `UsageStore.list` when its turn comes. Throws RATE_LIMITED if the account has too many queries at once.
   * OverloadError: all accounts together have.
   */
  async list(accountId: string, query: UsageQuery, page?: PageRequest): Promise<UsageSums> {
    const asking = this.#asking.get(accountId) ?? 0;
    if (asking >= OF_ACCOUNT_MAX)
      throw new DomainError('RATE_LIMITED', 'Usage is being summed up for this account already; try again shortly.');
    this.#asking.set(accountId, asking + 1);
    try {
      return await this.#sums.add({ accountId, query, page });
    } finally {
      const left = this.#asking.get(accountId)! - 1;
      if (left > 0) this.#asking.set(accountId, left);
      else this.#asking.delete(accountId);
    }
  }
}
