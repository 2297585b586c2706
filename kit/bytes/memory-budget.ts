/**
 * Bounds bytes in memory, in total and per owner (an account or a worker): bodies that are received, responses that
 * are not read yet, pages of lists. A request over the budget waits. Owners are served round-robin.
 */

import type { BudgetFill } from '../observe/budget-metrics.ts';

/** Budget of one body or response, or the wait for it. */
export interface MemoryPermit {
  /** Releases all but `bytes`, unless it is lent. */
  shrink(bytes: number): void;
  /** Releases the budget to other owners only, until `release`. */
  lend(): void;
  /** Releases the budget, or cancels the wait. Idempotent. */
  release(): void;
}

/** Limits of a budget. */
interface MemoryBudgetOptions {
  bytesMax: number;
  /** Returns the most bytes of one owner. A larger request would wait forever. */
  ownerBytesMax: number;
}

interface Waiting {
  owner: string;
  bytes: number;
  grant(): void;
}

/** Waiting requests of one owner. */
interface Queue {
  /** Requests of work that has already started; served first. */
  first: Set<Waiting>;
  others: Set<Waiting>;
  /** Smaller requests granted since the oldest one waits. */
  overtaken: number;
}

/** Most smaller requests of an owner that are granted before its oldest one, which would else wait for ever. */
const OVERTAKEN_MAX = 16;

export class MemoryBudget {
  readonly #options: MemoryBudgetOptions;
  readonly #ofOwner = new Map<string, number>();
  /** Queues by owner, the next one first. */
  readonly #waiting = new Map<string, Queue>();
  #used = 0;

  constructor(options: MemoryBudgetOptions) {
    this.#options = options;
  }

  /** Most bytes of one owner. A larger request would wait forever. */
  get ownerBytesMax(): number {
    return this.#options.ownerBytesMax;
  }

  /**
   * Returns used bytes, the limit and the number of waiters. Without a total limit: of the owner with the most bytes.
   */
  get fill(): BudgetFill {
    const { bytesMax, ownerBytesMax } = this.#options;
    let waiting = 0;
    for (const { first, others } of this.#waiting.values()) waiting += first.size + others.size;
    if (bytesMax !== Infinity) return { bytes: this.#used, bytesMax, waiting };
    return { bytes: Math.max(0, ...this.#ofOwner.values()), bytesMax: ownerBytesMax, waiting };
  }

  /**
   * Calls `grant` as soon as the budget has `bytes` left, usually before it returns. `first`: before other requests
   * of the owner, because it ends started work; default false.
   */
  acquire(owner: string, bytes: number, grant: () => void, first = false): MemoryPermit {
    const request: Waiting = { owner, bytes, grant };
    const queue = this.#waiting.get(owner) ?? { first: new Set(), others: new Set(), overtaken: 0 };
    this.#waiting.set(owner, queue);
    (first ? queue.first : queue.others).add(request);
    this.#pump();
    let isLent = false;
    return {
      lend: () => {
        if (this.#waits(request) || isLent) return;
        isLent = true;
        this.#used -= request.bytes;
        this.#pump();
      },
      shrink: (left) => {
        if (this.#waits(request) || isLent || left >= request.bytes) return;
        this.#count(request, left - request.bytes);
        request.bytes = left;
        this.#pump();
      },
      release: () => {
        if (this.#waits(request)) this.#leave(request);
        else this.#count(request, -request.bytes);
        if (isLent) this.#used += request.bytes;
        request.bytes = 0;
        this.#pump();
      },
    };
  }

  /**
   * Grants requests in order. A large request of the next owner blocks the others; an owner over its own limit blocks
   * nobody.
   */
  #pump(): void {
    // An owner that is served goes to the end, where this loop meets it again.
    for (const [owner, queue] of this.#waiting) {
      const left = this.#options.ownerBytesMax - (this.#ofOwner.get(owner) ?? 0);
      const request = nextWithin(queue, left);
      if (!request) continue;
      if (this.#used + request.bytes > this.#options.bytesMax) return;
      queue.overtaken = request === oldestOf(queue) ? 0 : queue.overtaken + 1;
      this.#leave(request);
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, queue);
      this.#count(request, request.bytes);
      request.grant();
    }
  }

  #waits(request: Waiting): boolean {
    const queue = this.#waiting.get(request.owner);
    return queue !== undefined && (queue.first.has(request) || queue.others.has(request));
  }

  #leave(request: Waiting): void {
    const queue = this.#waiting.get(request.owner)!;
    queue.first.delete(request);
    queue.others.delete(request);
    if (queue.first.size + queue.others.size === 0) this.#waiting.delete(request.owner);
  }

  #count({ owner }: Waiting, change: number): void {
    this.#used += change;
    const ofOwner = (this.#ofOwner.get(owner) ?? 0) + change;
    if (ofOwner > 0) this.#ofOwner.set(owner, ofOwner);
    else this.#ofOwner.delete(owner);
  }
}

/** Returns the next request of at most `bytes`. `undefined` if there is none, or if the oldest has waited enough. */
function nextWithin(queue: Queue, bytes: number): Waiting | undefined {
  const oldest = oldestOf(queue);
  if (oldest && oldest.bytes <= bytes) return oldest;
  if (queue.overtaken >= OVERTAKEN_MAX) return undefined;
  return firstWithin(queue.first, bytes) ?? firstWithin(queue.others, bytes);
}

/** Returns the request whose turn it is. */
function oldestOf({ first, others }: Queue): Waiting | undefined {
  const [oldest] = first.size > 0 ? first : others;
  return oldest;
}

/** Returns the first request of at most `bytes`. */
function firstWithin(requests: ReadonlySet<Waiting>, bytes: number): Waiting | undefined {
  for (const request of requests) if (request.bytes <= bytes) return request;
  return undefined;
}
