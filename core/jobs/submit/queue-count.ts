/** Estimates the queue length: counted now and then, corrected by what was queued and claimed here since. */
import type { Clock } from '@slipway/kit/time/clock';

/** Age in milliseconds at which a count is refreshed in the background; past `USABLE_MS` it is refreshed before use. */
const FRESH_MS = 1_000;
const USABLE_MS = 5_000;
/** No submission is rejected by a count older than this many milliseconds, or than ten times what counting takes. */
const REJECTABLE_MS = 50;

export class QueueCount {
  readonly #clock: Clock;
  readonly #read: () => Promise<number>;
  #counted = 0;
  /** Jobs queued here less jobs claimed here since the count. */
  #changed = 0;
  /** Jobs queued during the count: they may be in it and have been added as well. */
  #maybeTwice = 0;
  #queuedMeanwhile = 0;
  #countedAtMs = -Infinity;
  #tookMs = 0;
  #counting: Promise<void> | undefined;

  constructor(clock: Clock, read: () => Promise<number>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Adds the jobs queued (positive) or claimed (negative) here. */
  changed(count: number): void {
    this.#changed += count;
    if (count > 0) this.#queuedMeanwhile += count;
  }

  /**
   * Admits a submission while at most `max` jobs wait, without a promise if the count is fresh. Else throws the error
   * that `refusal` makes.
   */
  admit(max: number, refusal: () => Error): void | Promise<void> {
    const ageMs = this.#clock.monotonicMs() - this.#countedAtMs;
    if (ageMs > USABLE_MS || this.#counted + this.#changed > max) return this.#admitByCount(max, refusal);
    // A background failure is ignored: the count becomes too old and the next submission gets the error.
    if (ageMs > FRESH_MS) this.#count().catch(() => {});
  }

  async #admitByCount(max: number, refusal: () => Error): Promise<void> {
    const ageMs = this.#clock.monotonicMs() - this.#countedAtMs;
    if (ageMs > Math.max(REJECTABLE_MS, this.#tookMs * 10) || !this.#surelyOver(max)) await this.#count();
    if (this.#surelyOver(max)) throw refusal();
  }

  /** Returns whether more than `max` jobs wait even if some were counted twice. */
  #surelyOver(max: number): boolean {
    return this.#counted + this.#changed - this.#maybeTwice > max;
  }

  #count(): Promise<void> {
    this.#counting ??= this.#countOnce().finally(() => {
      this.#counting = undefined;
    });
    return this.#counting;
  }

  async #countOnce(): Promise<void> {
    const startedAtMs = this.#clock.monotonicMs();
    const changedBefore = this.#changed;
    this.#queuedMeanwhile = 0;
    this.#counted = await this.#read();
    this.#changed -= changedBefore;
    this.#maybeTwice = this.#queuedMeanwhile;
    this.#countedAtMs = this.#clock.monotonicMs();
    this.#tookMs = this.#countedAtMs - startedAtMs;
  }
}
