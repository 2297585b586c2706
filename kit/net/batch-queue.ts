/**
 * Queues of items that wait for a stream, and the budget of one message. While a queue is full its producer must reject
 * items, or stop reading their source.
 */
import { BATCH_MESSAGE_BYTES } from '@slipway/proto/wire/limits';

/** Remaining capacity of one message. The first item always fits, however large it is. */
export class MessageBudget {
  #bytesLeft: number;
  #itemsLeft: number;
  #taken = false;

  constructor({ bytes = BATCH_MESSAGE_BYTES, items = Infinity }: { bytes?: number; items?: number } = {}) {
    this.#bytesLeft = bytes;
    this.#itemsLeft = items;
  }

  /** Takes capacity for an item. Returns false if it must wait for the next message. */
  take(bytes: number): boolean {
    if (this.#taken && (bytes > this.#bytesLeft || this.#itemsLeft < 1)) return false;
    this.#taken = true;
    this.#bytesLeft -= bytes;
    this.#itemsLeft -= 1;
    return true;
  }
}

/** Bound of a queue. Default: none. */
interface QueueBound {
  items?: number;
  bytes?: number;
}

/**
 * A full queue accepts items again once it has drained to this part of its bound, so that its producer is not stopped
 * for every item.
 */
const LOW_SHARE = 0.75;

/** Items of known size. */
export class BatchQueue<Item> {
  readonly #itemsMax: number;
  readonly #bytesMax: number;
  #items: Item[] = [];
  #sizes: number[] = [];
  #bytes = 0;
  #isFull = false;

  constructor({ items = Infinity, bytes = Infinity }: QueueBound = {}) {
    this.#itemsMax = items;
    this.#bytesMax = bytes;
  }

  /** Number of waiting items. */
  get length(): number {
    return this.#items.length;
  }

  /** Bytes of the waiting items, as given to `add`. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True from reaching the bound until it has drained enough. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Appends an item, even if the queue is full: for items that can no longer be rejected. */
  add(item: Item, bytes: number): void {
    this.#items.push(item);
    this.#sizes.push(bytes);
    this.#bytes += bytes;
    if (this.#items.length >= this.#itemsMax || this.#bytes >= this.#bytesMax) this.#isFull = true;
  }

  /** Removes the items that fit from the front. */
  take(budget: MessageBudget): Item[] {
    let count = 0;
    while (count < this.#items.length && budget.take(this.#sizes[count]!)) {
      this.#bytes -= this.#sizes[count]!;
      count += 1;
    }
    if (count === 0) return [];
    if (this.#items.length - count <= this.#itemsMax * LOW_SHARE && this.#bytes <= this.#bytesMax * LOW_SHARE)
      this.#isFull = false;
    this.#sizes.splice(0, count);
    return this.#items.splice(0, count);
  }

  /** Drops all items. */
  clear(): void {
    this.#items = [];
    this.#sizes = [];
    this.#bytes = 0;
    this.#isFull = false;
  }
}
