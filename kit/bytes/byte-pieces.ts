/**
 * Bytes that arrive in pieces, kept until all are here. Whoever sends chooses how small the pieces are: HTTP allows one
 * byte each, which kept as they came take three hundred times their size.
 */

/**
 * Pieces below SMALL_BYTES that are kept as they came; from then on everything is copied into blocks. Most bodies have
 * one or two.
 */
const SMALL_MAX = 16;
const SMALL_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;

export class BytePieces {
  #bytes = 0;
  #small = 0;
  #pieces: Buffer[] = [];
  /** The last one of the pieces, while it has room. */
  #block: Buffer | undefined;
  #filled = 0;

  /**
   * `announced`: how many bytes are to come, where that is known and there is room for them. Many then go into their
   * place as they come: joined at the end they would keep the process from everything else.
   */
  constructor(announced = 0) {
    if (announced < BLOCK_BYTES) return;
    this.#small = SMALL_MAX;
    this.#pieces.push((this.#block = Buffer.allocUnsafeSlow(announced)));
  }

  /** Of all pieces. */
  get bytes(): number {
    return this.#bytes;
  }

  /** In how many pieces of memory they are: at most 16, and one for each 4 KiB. */
  get held(): number {
    return this.#pieces.length;
  }

  /** Keeps a piece; the caller must not write to it any more. */
  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#small >= SMALL_MAX) return this.#copy(piece);
    if (piece.length < SMALL_BYTES) this.#small += 1;
    this.#pieces.push(piece);
  }

  /** All of it in order. Nothing is kept any more. */
  take(): Buffer {
    if (this.#block) this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, this.#filled);
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#bytes);
    this.clear();
    return all;
  }

  /** Forgets all. */
  clear(): void {
    this.#bytes = 0;
    this.#small = 0;
    this.#pieces = [];
    this.#block = undefined;
  }

  #copy(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      if (!this.#block) {
        this.#pieces.push((this.#block = Buffer.allocUnsafeSlow(BLOCK_BYTES)));
        this.#filled = 0;
      }
      const copied = piece.copy(this.#block, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled === this.#block.length) this.#block = undefined;
    }
  }
}
