/** Finds the ends of WebSocket frames (RFC 6455, 5.2), so that a close frame can be sent between two frames. Pure. */

/** Status of a connection that ends because its key was revoked (RFC 6455, 7.4.1). */
export const POLICY_VIOLATION = 1008;

const LENGTH_16 = 126;
const LENGTH_64 = 127;
const CLOSE = 0x88;
/** Longest frame header: two bytes, eight of length, four of mask. */
const HEADER_BYTES_MAX = 14;

/** Follows the frames of one direction. Does not validate them. */
export class FrameEnds {
  /** Start of an incomplete header. */
  readonly #header = Buffer.alloc(HEADER_BYTES_MAX);
  #headerBytes = 0;
  /** Bytes of the current frame that are missing. 0 between two frames, or in a header. */
  #left = 0;

  /** Whether the position is between two frames. */
  get isBetween(): boolean {
    return this.#left === 0 && this.#headerBytes === 0;
  }

  /** Consumes bytes. Returns how many of them belong to complete frames: 0 if no frame ends in them. */
  pass(piece: Buffer): number {
    let at = 0;
    let end = 0;
    while (at < piece.length) {
      const taken = this.#left > 0 ? Math.min(this.#left, piece.length - at) : 0;
      this.#left -= taken;
      at += taken;
      if (taken === 0) this.#addToHeader(piece[at++]!);
      if (this.isBetween) end = at;
    }
    return end;
  }

  #addToHeader(byte: number): void {
    this.#header[this.#headerBytes++] = byte;
    if (this.#headerBytes < 2) return;
    const length = this.#header[1]! & 0x7f;
    const mask = (this.#header[1]! & 0x80) === 0 ? 0 : 4;
    if (this.#headerBytes < 2 + extendedBytes(length) + mask) return;
    this.#headerBytes = 0;
    this.#left = this.#payloadBytes(length);
  }

  #payloadBytes(length: number): number {
    if (length === LENGTH_16) return this.#header.readUInt16BE(2);
    if (length === LENGTH_64) return Number(this.#header.readBigUInt64BE(2));
    return length;
  }
}

/** Returns the number of bytes that hold a length above 125. */
function extendedBytes(length: number): number {
  if (length === LENGTH_16) return 2;
  return length === LENGTH_64 ? 8 : 0;
}

/** Returns a close frame of a server. `reason`: at most 123 bytes. */
export function closeFrame(status: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const frame = Buffer.alloc(4 + text.length);
  frame.writeUInt16BE((CLOSE << 8) | (2 + text.length), 0);
  frame.writeUInt16BE(status, 2);
  text.copy(frame, 4);
  return frame;
}
