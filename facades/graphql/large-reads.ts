/**
 * Turns of operations that read long lists: GraphQL answers a document as a whole, so such a list is in memory as a whole. Few are at a time,
 * one of an account; the others wait without what they have read.
 */
import { MemoryBudget } from '../../core/runtime/memory-budget.ts';
import type { MemoryPlace } from '../../core/runtime/memory-budget.ts';

const AT_ONCE_MAX = 2;
const OF_ACCOUNT_MAX = 1;

/** The turns of one process; counted in operations. */
export function largeReads(): MemoryBudget {
  return new MemoryBudget({ bytesMax: AT_ONCE_MAX, ownerBytesMax: OF_ACCOUNT_MAX });
}

/** The turn of one operation, however many long lists it reads. */
export class LargeRead {
  readonly #turns: MemoryBudget;
  readonly #accountId: string;
  #place: MemoryPlace | undefined;
  #turn: Promise<void> | undefined;
  #isOn = false;

  constructor(turns: MemoryBudget, accountId: string) {
    this.#turns = turns;
    this.#accountId = accountId;
  }

  /** Resolves when it is this operation's turn, with whether it had to wait. */
  async enter(): Promise<boolean> {
    this.#turn ??= new Promise((resolve) => {
      this.#place = this.#turns.acquire(this.#accountId, 1, () => {
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
