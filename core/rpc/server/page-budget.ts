/**
 * Limits the list pages in memory, in all and per account. A call without capacity waits before anything is read, and
 * releases its capacity when the response was sent. So core holds only a few pages, however many and however large
 * lists are requested.
 */

import { OverloadError } from '@slipway/kit/bytes/batcher';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { BudgetMeter } from '@slipway/kit/observe/budget-metrics';
import { DomainError } from '../../domain/settings/errors.ts';
import { PAGE_BYTES_MAX } from '../../store/sql/page.ts';

/** Most bytes that a page uses as rows, then as a message, then as encoded bytes: several times its size. */
const HELD_BYTES = 5 * PAGE_BYTES_MAX;
/** Most pages in memory. */
const PAGES_MAX = 8;
const ACCOUNT_PAGES_MAX = 2;
/** Most calls that wait for capacity. */
const WAITING_MAX = 2_000;
const ACCOUNT_WAITING_MAX = 200;

export class PageBudget {
  readonly #budget = new MemoryBudget({
    bytesMax: PAGES_MAX * HELD_BYTES,
    ownerBytesMax: ACCOUNT_PAGES_MAX * HELD_BYTES,
  });
  readonly #waiting = new Map<string, number>();
  #waitingAll = 0;

  /** Creates a budget. `meter`: reports its fill. Default: not reported. */
  constructor(meter?: BudgetMeter) {
    meter?.watch('pages', () => this.#budget.fill);
  }

  /**
   * Waits for capacity for a page, which the caller holds until `onLeft` calls back. `isContinued`: a further page of a
   * list. It goes before first pages of the same account, so that started lists finish. Rejects with OverloadError if
   * too many wait, and with UNAVAILABLE if the caller disconnected before there was capacity.
   */
  async enter(accountId: string, isContinued: boolean, onLeft: (gone: () => void) => void): Promise<void> {
    const before = this.#waiting.get(accountId) ?? 0;
    if (before >= ACCOUNT_WAITING_MAX || this.#waitingAll >= WAITING_MAX) throw new OverloadError('lists');
    this.#count(accountId, 1);
    try {
      await this.#wait(accountId, isContinued, onLeft);
    } finally {
      this.#count(accountId, -1);
    }
  }

  #wait(accountId: string, isContinued: boolean, onLeft: (gone: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const permit = this.#budget.acquire(accountId, HELD_BYTES, resolve, isContinued);
      onLeft(() => {
        permit.release();
        reject(new DomainError('UNAVAILABLE', 'The caller has gone.'));
      });
    });
  }

  #count(accountId: string, change: number): void {
    this.#waitingAll += change;
    const waiting = (this.#waiting.get(accountId) ?? 0) + change;
    if (waiting > 0) this.#waiting.set(accountId, waiting);
    else this.#waiting.delete(accountId);
  }
}
