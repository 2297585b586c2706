/**
 * Bounds the pages of lists that are in memory, in all and of one account: whoever finds no capacity waits before anything
 * is read, and gives the capacity back when the answer has left. So however many ask for however large lists, core holds a
 * few pages.
 */

import { OverloadError } from '@slipway/kit/bytes/batcher';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { BudgetMeter } from '@slipway/kit/observe/budget-metrics';
import { DomainError } from '../../domain/settings/errors.ts';
import { PAGE_BYTES_MAX } from '../../store/sql/page.ts';

/** What a page takes up at most while it is rows, then a message, then bytes: its own size several times. */
const HELD_BYTES = 5 * PAGE_BYTES_MAX;
/** Pages at a time. */
const PAGES_MAX = 8;
const ACCOUNT_PAGES_MAX = 2;
/** Calls that wait for capacity. */
const WAITING_MAX = 2_000;
const ACCOUNT_WAITING_MAX = 200;

export class PageBudget {
  readonly #budget = new MemoryBudget({
    bytesMax: PAGES_MAX * HELD_BYTES,
    ownerBytesMax: ACCOUNT_PAGES_MAX * HELD_BYTES,
  });
  readonly #waiting = new Map<string, number>();
  #waitingAll = 0;

  /** `meter`: default nobody counts. */
  constructor(meter?: BudgetMeter) {
    meter?.watch('pages', () => this.#budget.fill);
  }

  /**
   * Waits for capacity for a page, which the caller has until `onGone` calls back. `goesOn`: of a list of which pages were
   * read, which goes before lists of the same account that have not begun, so that what has begun ends. OverloadError:
   * too many wait. UNAVAILABLE: the caller went before there was capacity.
   */
  async enter(accountId: string, goesOn: boolean, onGone: (gone: () => void) => void): Promise<void> {
    const before = this.#waiting.get(accountId) ?? 0;
    if (before >= ACCOUNT_WAITING_MAX || this.#waitingAll >= WAITING_MAX) throw new OverloadError('lists');
    this.#count(accountId, 1);
    try {
      await this.#wait(accountId, goesOn, onGone);
    } finally {
      this.#count(accountId, -1);
    }
  }

  #wait(accountId: string, goesOn: boolean, onGone: (gone: () => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const place = this.#budget.acquire(accountId, HELD_BYTES, resolve, goesOn);
      onGone(() => {
        place.release();
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
