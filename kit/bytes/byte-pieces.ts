/**
 * Collects bytes that arrive in pieces. The sender chooses their size: HTTP allows one byte each, and as separate
 * buffers those would take three hundred times their size.
 */

/**
 * Pieces below SMALL_BYTES that are kept as they came; from then on everything is copied into blocks. Most bodies have
 * one or two.
 */
const SMALL_MAX = 16;
const SMALL_BYTES = 4 * 1024;
const BLOCK_BYTES = 64 * 1024;
/** Free bytes before a large announced body: the message that it becomes a part of is then written around it. */
const ROOM_BYTES = 4 * 1024;
/** Memory of announced bodies that are in no message yet. */
const roomy = new WeakSet<ArrayBufferLike>();

/**
 * Returns the memory before a part of a body, if it may be overwritten: nothing else reads the body any more. Returns
 * it once. `undefined` if the body was not announced, or was not large.
 */
export function takeRoomBefore({ buffer, byteOffset }: Uint8Array): Buffer | undefined {
  return roomy.delete(buffer) ? Buffer.from(buffer, 0, byteOffset) : undefined;
}

export class BytePieces {
  #bytes = 0;
  #small = 0;
  #pieces: Buffer[] = [];
  /** Last of the pieces, while it is not full. */
  #block: Buffer | undefined;
  #filled = 0;

  /**
   * `announced`: expected number of bytes, if known; that memory is allocated at once. Large bodies are then copied as
   * they arrive, instead of blocking the process when they are joined at the end. Default: unknown.
   */
  constructor(announced = 0) {
    if (announced < BLOCK_BYTES) return;
    this.#small = SMALL_MAX;
    const memory = Buffer.allocUnsafeSlow(ROOM_BYTES + announced);
    roomy.add(memory.buffer);
    this.#pieces.push((this.#block = memory.subarray(ROOM_BYTES)));
  }

  /** Total size of the pieces. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of buffers: at most 16, and one for each 4 KiB. */
  get held(): number {
    return this.#pieces.length;
  }

  /** Adds a piece, which the caller must no longer change. */
  add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#small >= SMALL_MAX) return this.#copy(piece);
    if (piece.length < SMALL_BYTES) this.#small += 1;
    this.#pieces.push(piece);
  }

  /** Returns all bytes in order, and clears the collection. */
  take(): Buffer {
    if (this.#block) this.#pieces[this.#pieces.length - 1] = this.#block.subarray(0, this.#filled);
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces, this.#bytes);
    this.clear();
    return all;
  }

  /** Drops all pieces. */
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
