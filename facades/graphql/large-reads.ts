/**
 * Turns of operations that read long lists: GraphQL answers a document as a whole, so such a list is in memory as a
 * whole. Few are at a time, one of an account; the others wait without what they have read.
 */

import type { MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';

const AT_ONCE_MAX = 2;
const OF_ACCOUNT_MAX = 1;
/** Longest wait for a turn, in milliseconds: below the time that clients wait for an answer. */
const WAIT_MS_MAX = 20_000;

/** The turns of one process; counted in operations. */
export function largeReads(): MemoryBudget {
  return new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX });
}

/** The turn of one operation, however many long lists it reads. */
export class LargeRead {
  readonly #turns: MemoryBudget;
  readonly #accountId: string;
  #place: MemoryPermit | undefined;
  #turn: Promise<void> | undefined;
  #isOn = false;
  readonly #clock: Clock;

  constructor(turns: MemoryBudget, accountId: string, clock: Clock) {
    this.#turns = turns;
    this.#accountId = accountId;
    this.#clock = clock;
  }

  /** Resolves when it is this operation's turn, with whether it had to wait. RATE_LIMITED: not in time. */
  async enter(): Promise<boolean> {
    this.#turn ??= new Promise((resolve, reject) => {
      const timer = this.#clock.after(WAIT_MS_MAX, () => {
        this.#place?.release();
        reject(
          new CoreError(
            'RATE_LIMITED',
            'Too many documents with long lists are being read; read them one after the other.',
          ),
        );
      });
      this.#place = this.#turns.acquire(this.#accountId, 1, () => {
        timer.cancel();
        this.#isOn = true;
        resolve();
      });
    });
    if (this.#isOn) return false;
    await this.#turn;
    return true;
  }

  leave(): void {
    this.#place?.release();
  }
}
