/**
 * Batches requests without a timer: items that arrive while a flush is in flight leave with the next one. At low load
 * an item leaves at once; under load batches grow.
 */
import type { Clock } from '../time/clock.ts';

/** The queue of a batcher is full: the caller must push back. */
export class OverloadError extends Error {
  constructor(name: string) {
    super(`${name}: too many requests are waiting`);
    this.name = 'OverloadError';
  }
}

/** Counts batches. */
export interface BatchMeter {
  /**
   * Registers a batcher. `waiting` returns how many of at most `waitingMax` items wait. Call the result with the size
   * of each batch.
   */
  watch(name: string, waiting: () => number, waitingMax: number): (items: number) => void;
}

/** Options of a batcher. */
interface BatcherOptions<Item, Result> {
  /** Name in errors. */
  name: string;
  /**
   * Handles a batch and returns one result per item, in order. A rejection fails all items of the batch. A result
   * that is an Error fails its item only.
   */
  flush(items: Item[]): Promise<(Result | Error)[]>;
  /** Most items in a flush. */
  itemsMax: number;
  /** Most bytes in a flush, unless a single item is larger. Default: no bound. */
  bytesMax?: number;
  /** Size of an item in bytes. Default 0. */
  bytesOf?(item: Item): number;
  /** Most items that may wait; one more fails with OverloadError. */
  waitingMax: number;
  /** Flushes in flight at once. Default 1, which keeps the order. */
  flushesMax?: number;
  /** Default: none. */
  meter?: BatchMeter | undefined;
  /** Schedules flushes. */
  clock: Pick<Clock, 'soon'>;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #flushed: ((items: number) => void) | undefined;
  #waiting: Waiting<Item, Result>[] = [];
  #inFlight = 0;
  #scheduled = false;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
    this.#flushed = options.meter?.watch(options.name, () => this.waiting, options.waitingMax);
  }

  /** Items that wait for a flush. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Adds an item; resolves with its own result once its batch is flushed. */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= this.#options.waitingMax) return Promise.reject(new OverloadError(this.#options.name));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#inFlight >= (this.#options.flushesMax ?? 1)) return;
    this.#scheduled = true;
    // After the current tick, so that all messages of one network read leave in one batch.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#next();
    });
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const batch = this.#take();
    this.#flushed?.(batch.length);
    this.#inFlight += 1;
    void this.#flush(batch).finally(() => {
      this.#inFlight -= 1;
      if (this.#waiting.length > 0) this.#schedule();
    });
    if (this.#waiting.length > 0) this.#schedule();
  }

  #take(): Waiting<Item, Result>[] {
    const { itemsMax, bytesMax, bytesOf } = this.#options;
    let count = Math.min(itemsMax, this.#waiting.length);
    if (bytesMax !== undefined && bytesOf) {
      let bytes = 0;
      for (let i = 0; i < count; i += 1) {
        bytes += bytesOf(this.#waiting[i]!.item);
        if (bytes > bytesMax) count = Math.max(i, 1);
      }
    }
    return this.#waiting.splice(0, count);
  }

  async #flush(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.flush(batch.map((waiting) => waiting.item));
      batch.forEach((waiting, index) => {
        const result = results[index];
        if (result instanceof Error) waiting.reject(result);
        else waiting.resolve(result as Result);
      });
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
    }
  }
}
