/**
 * Bounds bytes in memory, in all and of one owner, an account or a worker: bodies that are being received, answers that are not read yet, pages
 * of lists. Who finds no room waits, with its bytes elsewhere. Owners are served round-robin, so that one with much that waits keeps no other waiting.
 */

import type { BudgetFill } from './budget-metrics.ts';

/** Room for one body or answer, or the wait for it. */
export interface MemoryPermit {
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
  grant(): void;
}

/** What waits of one owner. */
interface Queue {
  /** Of work that has begun already. */
  ahead: Set<Waiting>;
  others: Set<Waiting>;
}

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  readonly #ofOwner = new Map<string, number>();
  /** By owner; whose turn is next comes first. */
  readonly #waiting = new Map<string, Queue>();
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
    let waiting = 0;
    for (const { ahead, others } of this.#waiting.values()) waiting += ahead.size + others.size;
    if (bytesMax !== Infinity) return { bytes: this.#used, bytesMax, waiting };
    return { bytes: Math.max(0, ...this.#ofOwner.values()), bytesMax: ownerBytesMax, waiting };
  }

  /**
   * Calls `grant` as soon as there is room for so many bytes, as a rule before it returns. `ahead`: before what else waits of the same owner, because it
   * ends what has begun; default false.
   */
  acquire(owner: string, bytes: number, grant: () => void, ahead = false): MemoryPermit {
    const request: Waiting = { owner, bytes, grant };
    const queue = this.#waiting.get(owner) ?? { ahead: new Set(), others: new Set() };
    this.#waiting.set(owner, queue);
    (ahead ? queue.ahead : queue.others).add(request);
    this.#pump();
    return {
      shrink: (left) => {
        if (this.#waits(request) || left >= request.bytes) return;
        this.#count(request, left - request.bytes);
        request.bytes = left;
        this.#pump();
      },
      release: () => {
        if (this.#waits(request)) this.#leave(request);
        else this.#count(request, -request.bytes);
        request.bytes = 0;
        this.#pump();
      },
    };
  }

  /** The one whose turn it is waits until there is room for it, however much it wants; what an owner has no room of its own for stops nobody. */
  #pump(): void {
    // An owner that is served goes to the end, where this loop meets it again.
    for (const [owner, queue] of this.#waiting) {
      const left = this.#options.ownerBytesMax - (this.#ofOwner.get(owner) ?? 0);
      const request = firstWithin(queue.ahead, left) ?? firstWithin(queue.others, left);
      if (!request) continue;
      if (this.#used + request.bytes > this.#options.bytesMax) return;
      this.#leave(request);
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, queue);
      this.#count(request, request.bytes);
      request.grant();
    }
  }

  #waits(request: Waiting): boolean {
    const queue = this.#waiting.get(request.owner);
    return queue !== undefined && (queue.ahead.has(request) || queue.others.has(request));
  }

  #leave(request: Waiting): void {
    const queue = this.#waiting.get(request.owner)!;
    queue.ahead.delete(request);
    queue.others.delete(request);
    if (queue.ahead.size + queue.others.size === 0) this.#waiting.delete(request.owner);
  }

  #count({ owner }: Waiting, change: number): void {
    this.#used += change;
    const ofOwner = (this.#ofOwner.get(owner) ?? 0) + change;
    if (ofOwner > 0) this.#ofOwner.set(owner, ofOwner);
    else this.#ofOwner.delete(owner);
  }
}

/** The first that wants no more. */
function firstWithin(requests: ReadonlySet<Waiting>, bytes: number): Waiting | undefined {
  for (const request of requests) if (request.bytes <= bytes) return request;
  return undefined;
}
