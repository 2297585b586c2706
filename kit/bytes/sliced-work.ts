/**
 * Does work on large texts of users in slices of a millisecond. Between slices the process handles heartbeats and
 * requests. Owners are served round-robin, so that one with much work delays no other; work of one owner keeps its
 * order.
 */

import type { BudgetMeter } from '../observe/budget-metrics.ts';
import type { Clock } from '../time/clock.ts';
import { OverloadError } from './batcher.ts';

/** Work that yields at least every millisecond. */
export type Work<Result> = Generator<undefined, Result, undefined>;

/** Limits of the work. */
interface SlicedWorkOptions {
  /** Name in errors. */
  name: string;
  /** Most bytes of waiting work, in total and per owner. A single item may be larger. */
  bytesMax: number;
  ownerBytesMax: number;
  /** Default: none. */
  meter?: BudgetMeter | undefined;
  clock: Clock;
}

/** Largest work in bytes that is done at once. */
export const AT_ONCE_BYTES_MAX = 64 * 1024;
/** Length of a slice in milliseconds. A request passes several ticks of two processes, and each may have a slice. */
const SLICE_MS = 1;
/** Least bytes that an item counts as, so that the number of items is bounded too. */
const BYTES_MIN = 256;

interface Waiting {
  work: Work<unknown>;
  bytes: number;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Owner {
  bytes: number;
  queue: Waiting[];
}

export class SlicedWork {
  readonly #options: SlicedWorkOptions;
  /** Waiting work by owner, the next owner first. */
  readonly #waiting = new Map<string, Owner>();
  #bytes = 0;
  #scheduled = false;

  constructor(options: SlicedWorkOptions) {
    this.#options = options;
    options.meter?.watch(options.name, () => ({ bytes: this.#bytes, bytesMax: options.bytesMax }));
  }

  /**
   * Does work on `bytes` bytes: small work at once, unless earlier work of the owner waits. Rejects with OverloadError
   * if too much work waits already, of the owner or in total.
   */
  run<Result>(owner: string, bytes: number, work: Work<Result>): Result | Promise<Result> {
    if (bytes <= AT_ONCE_BYTES_MAX && !this.#waiting.has(owner)) return workNow(work);
    return this.#wait(owner, bytes, work);
  }

  #wait<Result>(owner: string, bytes: number, work: Work<Result>): Promise<Result> {
    const { name, bytesMax, ownerBytesMax } = this.#options;
    const mine: Owner = this.#waiting.get(owner) ?? { bytes: 0, queue: [] };
    const counted = Math.max(bytes, BYTES_MIN);
    if (
      (mine.bytes > 0 && mine.bytes + counted > ownerBytesMax) ||
      (this.#bytes > 0 && this.#bytes + counted > bytesMax)
    ) {
      return Promise.reject(new OverloadError(name));
    }
    return new Promise<Result>((resolve, reject) => {
      mine.queue.push({ work, bytes: counted, resolve: resolve as (result: unknown) => void, reject });
      mine.bytes += counted;
      this.#bytes += counted;
      this.#waiting.set(owner, mine);
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    // After the other events of this tick.
    this.#options.clock.soon(() => {
      this.#scheduled = false;
      this.#slice();
      this.#schedule();
    });
  }

  /** Runs one slice of the next owner: its oldest work, and more of it while time is left. */
  #slice(): void {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + SLICE_MS;
    const [first] = this.#waiting;
    if (!first) return;
    const [owner, mine] = first;
    this.#waiting.delete(owner);
    const mayGoOn = (): boolean => clock.monotonicMs() < untilMs;
    while (mine.queue.length > 0) {
      if (!goOn(mine.queue[0]!, mayGoOn)) break;
      const { bytes } = mine.queue.shift()!;
      mine.bytes -= bytes;
      this.#bytes -= bytes;
      if (!mayGoOn()) break;
    }
    if (mine.queue.length > 0) this.#waiting.set(owner, mine);
  }
}

/** Continues work while `mayGoOn`. Returns true when it is done. */
function goOn({ work, resolve, reject }: Waiting, mayGoOn: () => boolean): boolean {
  try {
    do {
      const { done, value } = work.next();
      if (!done) continue;
      resolve(value);
      return true;
    } while (mayGoOn());
    return false;
  } catch (error) {
    reject(error);
    return true;
  }
}

/** Does all of the work without a pause. Returns its result. */
export function workNow<Result>(work: Work<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
