/** How many jobs wait, as far as this replica knows: counted now and then, and corrected by what was queued and claimed here since. */
import type { Clock } from '../runtime/clock.ts';

/** A count older than this many milliseconds is made again in the background, and before use after the other. */
const FRESH_MS = 1_000;
const USABLE_MS = 5_000;
/** Nobody is refused by a count older than this many milliseconds, or than ten times what counting takes. */
const REFUSABLE_MS = 50;

export class QueueCount {
  readonly #clock: Clock;
  readonly #read: () => Promise<number>;
  #counted = 0;
  /** Jobs queued here less jobs claimed here since then. */
  #changed = 0;
  /** So many queued while the others were counted: these may be among them, and have been added all the same. */
  #maybeTwice = 0;
  #queuedMeanwhile = 0;
  #countedAtMs = -Infinity;
  #tookMs = 0;
  #counting: Promise<void> | undefined;

  constructor(clock: Clock, read: () => Promise<number>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** Jobs were queued (positive) or claimed (negative) here. */
  changed(count: number): void {
    this.#changed += count;
    if (count > 0) this.#queuedMeanwhile += count;
  }

  /** Passes while at most `max` jobs wait, at once when that is known. Else fails with what `refusal` makes. */
  admit(max: number, refusal: () => Error): void | Promise<void> {
    const ageMs = this.#clock.monotonicMs() - this.#countedAtMs;
    if (ageMs > USABLE_MS || this.#counted + this.#changed > max) return this.#admitByCount(max, refusal);
    // Failing in the background is fine: the count gets too old and the next submission meets the failure.
    if (ageMs > FRESH_MS) this.#count().catch(() => {});
  }

  async #admitByCount(max: number, refusal: () => Error): Promise<void> {
    const ageMs = this.#clock.monotonicMs() - this.#countedAtMs;
    if (ageMs > Math.max(REFUSABLE_MS, this.#tookMs * 10) || !this.#surelyOver(max)) await this.#count();
    if (this.#surelyOver(max)) throw refusal();
  }

  /** Nobody is refused because of jobs that were counted twice. */
  #surelyOver(max: number): boolean {
    return this.#counted + this.#changed - this.#maybeTwice > max;
  }

  #count(): Promise<void> {
    this.#counting ??= this.#countOnce().finally(() => { this.#counting = undefined; });
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
