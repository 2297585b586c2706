/** Keeps one object, such as a client, for each replica of core: opened on first use, closed when the replica left. */
export class PerReplica<One> {
  readonly #addresses: () => readonly string[];
  readonly #open: (address: string) => One;
  readonly #close: (one: One) => void;
  readonly #ones = new Map<string, One>();

  constructor(addresses: () => readonly string[], open: (address: string) => One, close: (one: One) => void) {
    this.#addresses = addresses;
    this.#open = open;
    this.#close = close;
  }

  /** Returns them in the order of the addresses as they are now. */
  all(): readonly One[] {
    const addresses = this.#addresses();
    for (const [address, one] of this.#ones) {
      if (addresses.includes(address)) continue;
      this.#ones.delete(address);
      this.#close(one);
    }
    return addresses.map((address) => {
      const one = this.#ones.get(address) ?? this.#open(address);
      this.#ones.set(address, one);
      return one;
    });
  }

  /** Closes all. A later use opens new ones. */
  close(): void {
    for (const one of this.#ones.values()) this.#close(one);
    this.#ones.clear();
  }
}
