/**
 * Shares out a number of places so that nobody can take them all: an owner may have as many as are still free. Alone that is half of them, two who take
 * what they can get a third each, and for whoever has few there is always one left.
 */
export class SharedPermits {
  readonly #max: number;
  readonly #held = new Map<string, number>();
  #all = 0;

  /** `max`: places in all. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Takes a place until `leave`. False: the owner has as many as are free, and gets none. */
  tryAcquire(owner: string): boolean {
    const mine = this.#held.get(owner) ?? 0;
    if (mine >= this.#max - this.#all) return false;
    this.#held.set(owner, mine + 1);
    this.#all += 1;
    return true;
  }

  /** Gives a place back that `enter` gave. */
  release(owner: string): void {
    const mine = this.#held.get(owner) ?? 0;
    if (mine > 1) this.#held.set(owner, mine - 1);
    else this.#held.delete(owner);
    this.#all -= 1;
  }
}
