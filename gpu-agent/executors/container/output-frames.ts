/**
 * Parses the output of a container as engines send it: frames with a header of eight bytes, whose last four are the
 * length of the body.
 */
import { Writable } from 'node:stream';

const HEAD_BYTES = 8;
const LENGTH_AT = 4;

/**
 * Accepts frames in pieces of any size and passes on their bodies in order, both streams of the container as one. Takes
 * time linear in the bytes.
 */
export class OutputFrames extends Writable {
  /** Bytes still missing of the frame's body. */
  #left = 0;
  /** Received part of an incomplete header. */
  #head: Buffer = Buffer.alloc(0);

  constructor(take: (bytes: Buffer) => void) {
    super({
      write: (piece: Buffer, _encoding, done) => {
        this.#parse(piece, take);
        done();
      },
    });
  }

  #parse(piece: Buffer, take: (bytes: Buffer) => void): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#left === 0) {
        const more = piece.subarray(at, at + HEAD_BYTES - this.#head.length);
        this.#head = this.#head.length === 0 ? more : Buffer.concat([this.#head, more]);
        at += more.length;
        if (this.#head.length < HEAD_BYTES) return;
        this.#left = this.#head.readUInt32BE(LENGTH_AT);
        this.#head = Buffer.alloc(0);
      }
      const body = piece.subarray(at, at + this.#left);
      at += body.length;
      this.#left -= body.length;
      if (body.length > 0) take(body);
    }
  }
}
