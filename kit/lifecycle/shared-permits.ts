/**
 * Shares a number of permits fairly: an owner may hold as many as are still free. A single owner gets half, two
 * greedy owners a third each, and a small owner always finds one.
 */
export class SharedPermits {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  /** `max`: permits in total. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a permit until `release`. Returns false if the owner holds as many as are free. */
  tryAcquire(owner: string): boolean {
    const mine = this.#held.get(owner) ?? 0;
    if (mine >= this.#max - this.#all) return false;
    this.#held.set(owner, mine + 1);
    this.#all += 1;
    return true;
  }

  /** Releases a permit. */
  release(owner: string): void {
    const mine = this.#held.get(owner) ?? 0;
    if (mine > 1) this.#held.set(owner, mine - 1);
    else this.#held.delete(owner);
    this.#all -= 1;
  }
}
