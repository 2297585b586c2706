/**
 * Bounds bytes in memory, in all and of one owner, an account or a worker: bodies that are being received, answers that are not read yet, pages
 * of lists. Who finds no room waits, with its bytes elsewhere. Owners wait apart, so that one with too much keeps no other waiting.
 */

import type { BudgetFill } from './budget-metrics.ts';

/** Room for one body or answer, or the wait for it. */
export interface MemoryPlace {
  /** Keeps only this much of the room. */
  shrink(bytes: number): void;
  /** Gives the room back, or ends the wait. Harmless when repeated. */
  release(): void;
}

/** How many bytes there may be. */
export interface MemoryBudgetOptions {
  bytesMax: number;
  /** Of one owner. At least the largest body or answer. */
  ownerBytesMax: number;
}

interface Waiting {
  owner: string;
  bytes: number;
  begin(): void;
}

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  readonly #ofOwner = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #used = 0;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  /** Most bytes of one owner; who wants more at once would wait for ever. */
  get ownerBytesMax(): number {
    return this.#options.ownerBytesMax;
  }

  /** Bytes that are taken and that may be, and how many wait for room. Where owners alone are bounded, of the one that has the most. */
  get fill(): BudgetFill {
    const { bytesMax, ownerBytesMax } = this.#options;
    const waiting = this.#waiting.size;
    if (bytesMax !== Infinity) return { bytes: this.#used, bytesMax, waiting };
    return { bytes: Math.max(0, ...this.#ofOwner.values()), bytesMax: ownerBytesMax, waiting };
  }

  /** Calls `begin` as soon as there is room for so many bytes, as a rule before it returns. */
  acquire(owner: string, bytes: number, begin: () => void): MemoryPlace {
    const request: Waiting = { owner, bytes, begin };
    this.#waiting.add(request);
    this.#pump();
    return {
      shrink: (left) => {
        if (this.#waiting.has(request) || left >= request.bytes) return;
        this.#count(request, left - request.bytes);
        request.bytes = left;
        this.#pump();
      },
      release: () => {
        if (!this.#waiting.delete(request)) this.#count(request, -request.bytes);
        request.bytes = 0;
        this.#pump();
      },
    };
  }

  /** First come, first served, but an owner without room does not stop those behind it. */
  #pump(): void {
    for (const request of this.#waiting) {
      if ((this.#ofOwner.get(request.owner) ?? 0) + request.bytes > this.#options.ownerBytesMax) continue;
      if (this.#used + request.bytes > this.#options.bytesMax) return;
      this.#waiting.delete(request);
      this.#count(request, request.bytes);
      request.begin();
    }
  }

  #count({ owner }: Waiting, change: number): void {
    this.#used += change;
    const ofOwner = (this.#ofOwner.get(owner) ?? 0) + change;
    if (ofOwner > 0) this.#ofOwner.set(owner, ofOwner);
    else this.#ofOwner.delete(owner);
  }
}
