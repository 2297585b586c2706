/**
 * Limits operations that read long lists. GraphQL returns a document as a whole, so such a list is in memory as a
 * whole. Few operations run at a time, and one per account. The others wait without the pages that they have read.
 * An account's second operation waits for the first one. Accounts wait for each other longer, in turn.
 */

import type { MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import { MemoryBudget } from '@slipway/kit/bytes/memory-budget';
import type { Clock } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';

const AT_ONCE_MAX = 2;
const OF_ACCOUNT_MAX = 1;
/** Longest wait for other operations of the account, in milliseconds. Below the timeout of clients. */
const WAIT_MS_MAX = 20_000;
/** Longest wait for other accounts after that, in milliseconds: for as long as some of their lists take. */
const WAIT_FOR_OTHERS_MS_MAX = 60_000;

/** Turns of one process, counted in operations. */
interface LargeReads {
  /** Turns within each account. */
  own: MemoryBudget;
  /** Turns among accounts, of operations that have the turn within theirs. */
  all: MemoryBudget;
}

/** Returns the turns of one process. */
export function largeReads(): LargeReads {
  return {
    own: new MemoryBudget({ bytesMax: Infinity, ownerBytesMax: OF_ACCOUNT_MAX }),
    all: new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX }),
  };
}

/** Whom the pages of an operation are for. */
export interface LargeReadCaller {
  accountId: string;
  /** Waits between two pages, of which the first took that long. */
  rest(tookMs: number): Promise<void>;
  /** Returns false once all clients that wait for a read have gone. Always true for a change. */
  isWanted(): boolean;
}

/** Turn of one operation, however many long lists it reads. */
export class LargeRead {
  readonly #permits: LargeReads;
  readonly #caller: LargeReadCaller;
  readonly #held: MemoryPermit[] = [];
  #permit: Promise<void> | undefined;
  #isOn = false;
  #hasLeft = false;
  #tookMs = 0;
  readonly #clock: Clock;

  constructor(permits: LargeReads, caller: LargeReadCaller, clock: Clock) {
    this.#permits = permits;
    this.#caller = caller;
    this.#clock = clock;
  }

  /**
   * Reads a page. A further page of a list first rests, depending on how long the latest page took. Rejects with
   * UNAVAILABLE if no client waits for it any more, or the operation has left.
   */
  async page<Page>(isFurther: boolean, read: () => Promise<Page>): Promise<Page> {
    if (isFurther) await this.#caller.rest(this.#tookMs);
    if (this.#hasLeft) throw hasEnded();
    if (!this.#caller.isWanted()) throw new CoreError('UNAVAILABLE', 'The client has gone.');
    const sinceMs = this.#clock.monotonicMs();
    const page = await read();
    this.#tookMs = this.#clock.monotonicMs() - sinceMs;
    return page;
  }

  /**
   * Resolves when it is this operation's turn, with whether it had to wait. RATE_LIMITED: other operations of the
   * account did not end in time. UNAVAILABLE: those of other accounts did not, or the operation has left.
   */
  async enter(): Promise<boolean> {
    // Nothing would ever end this turn.
    if (this.#hasLeft) throw hasEnded();
    this.#permit ??= this.#take();
    if (this.#isOn) return false;
    await this.#permit;
    return true;
  }

  /** Ends the turn. After an error, fields beside it may still be reading: they read no further page. */
  leave(): void {
    this.#hasLeft = true;
    this.#release();
  }

  #release(): void {
    for (const permit of this.#held) permit.release();
  }

  #take(): Promise<void> {
    const { own, all } = this.#permits;
    return new Promise((resolve, reject) => {
      const acquire = (turns: MemoryBudget, waitMs: number, late: CoreError, grant: () => void): void => {
        const timer = this.#clock.after(waitMs, () => {
          this.#release();
          reject(late);
        });
        const granted = (): void => {
          timer.cancel();
          grant();
        };
        this.#held.push(turns.acquire(this.#caller.accountId, 1, granted));
      };
      acquire(own, WAIT_MS_MAX, ownLate(), () =>
        acquire(all, WAIT_FOR_OTHERS_MS_MAX, othersLate(), () => {
          this.#isOn = true;
          resolve();
        }),
      );
    });
  }
}

function hasEnded(): CoreError {
  return new CoreError('UNAVAILABLE', 'The operation has ended.');
}

function ownLate(): CoreError {
  return new CoreError(
    'RATE_LIMITED',
    'Too many documents with long lists are being read; read them one after the other.',
  );
}

function othersLate(): CoreError {
  return new CoreError('UNAVAILABLE', 'Other accounts are reading long lists; try again in a minute.');
}
