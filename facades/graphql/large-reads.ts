/**
 * Limits operations that read long lists. GraphQL returns a document as a whole, so such a list is in memory as a
 * whole. Few operations run at a time, and one per account. The others wait without the pages that they have read.
 */

import type { MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';

const AT_ONCE_MAX = 2;
const OF_ACCOUNT_MAX = 1;
/** Longest wait for a turn, in milliseconds. Below the timeout of clients. */
const WAIT_MS_MAX = 20_000;

/** Returns the budget of one process, counted in operations. */
export function largeReads(): MemoryBudget {
  return new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX });
}

/** Whom the pages of an operation are for. */
export interface LargeReadCaller {
  accountId: string;
  /** Waits between two pages, of which the first took that long. */
  rest(tookMs: number): Promise<void>;
}

/** Turn of one operation, however many long lists it reads. */
export class LargeRead {
  readonly #permits: MemoryBudget;
  readonly #caller: LargeReadCaller;
  #held: MemoryPermit | undefined;
  #permit: Promise<void> | undefined;
  #isOn = false;
  #tookMs = 0;
  readonly #clock: Clock;

  constructor(permits: MemoryBudget, caller: LargeReadCaller, clock: Clock) {
    this.#permits = permits;
    this.#caller = caller;
    this.#clock = clock;
  }

  /** Reads a page. A further page of a list first rests, depending on how long the latest page took. */
  async page<Page>(isFurther: boolean, read: () => Promise<Page>): Promise<Page> {
    if (isFurther) await this.#caller.rest(this.#tookMs);
    const sinceMs = this.#clock.monotonicMs();
    const page = await read();
    this.#tookMs = this.#clock.monotonicMs() - sinceMs;
    return page;
  }

  /** Resolves when it is this operation's turn, with whether it had to wait. RATE_LIMITED: not in time. */
  async enter(): Promise<boolean> {
    this.#permit ??= new Promise((resolve, reject) => {
      const timer = this.#clock.after(WAIT_MS_MAX, () => {
        this.#held?.release();
        reject(
          new CoreError(
            'RATE_LIMITED',
            'Too many documents with long lists are being read; read them one after the other.',
          ),
        );
      });
      this.#held = this.#permits.acquire(this.#caller.accountId, 1, () => {
        timer.cancel();
        this.#isOn = true;
        resolve();
      });
    });
    if (this.#isOn) return false;
    await this.#permit;
    return true;
  }

  leave(): void {
    this.#held?.release();
  }
}
