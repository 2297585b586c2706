/** The last bytes that a worker wrote, in a ring buffer that grows only as far as it is used. */

const FIRST_BYTES = 4 * 1024;

/** Ring buffer of the newest `bytesMax` bytes. */
export class LogRing {
  readonly #bytesMax: number;
  #buffer = Buffer.alloc(0);
  /** Position of the oldest byte. */
  #start = 0;
  #size = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Bytes kept. */
  get size(): number {
    return this.#size;
  }

  /** Adds bytes; the oldest are overwritten. */
  write(bytes: Buffer): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - this.#bytesMax));
    this.#grow(Math.min(this.#bytesMax, this.#size + kept.length));
    const capacity = this.#buffer.length;
    const at = (this.#start + this.#size) % capacity;
    const first = kept.copy(this.#buffer, at);
    if (first < kept.length) kept.copy(this.#buffer, 0, first);
    const overflow = Math.max(0, this.#size + kept.length - capacity);
    this.#start = (this.#start + overflow) % capacity;
    this.#size += kept.length - overflow;
  }

  /** Returns a copy of the newest `bytes` bytes, oldest first. */
  tail(bytes: number): Buffer {
    return this.newest(bytes);
  }

  /** Returns a copy of the newest `bytes` bytes, oldest first. */
  protected newest(bytes: number): Buffer {
    const size = Math.min(bytes, this.#size);
    const result = Buffer.alloc(size);
    if (size === 0) return result;
    const from = (this.#start + this.#size - size) % this.#buffer.length;
    const first = this.#buffer.copy(result, 0, from, Math.min(this.#buffer.length, from + size));
    if (first < size) this.#buffer.copy(result, first, 0, size - first);
    return result;
  }

  /** Drops all bytes. */
  protected clear(): void {
    this.#start = 0;
    this.#size = 0;
  }

  #grow(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const kept = this.newest(this.#size);
    this.#buffer = Buffer.alloc(Math.min(this.#bytesMax, Math.max(FIRST_BYTES, 2 ** Math.ceil(Math.log2(needed)))));
    kept.copy(this.#buffer);
    this.#start = 0;
  }
}
