/**
 * Frames of the link between a worker and its agent (docs/reference/worker-protocol.md#link): messages of several jobs
 * at the same moment travel in one write. Both ends use this file. It imports nothing, because a handler is shipped
 * without the agent.
 *
 * Layout of a frame: number of bytes that follow (4), number of the call (4), kind (1), flag (1), length of the name in
 * bytes (2), name, body. Numbers are big-endian.
 */

/** Protocol that the worker requests in the Upgrade header. */
export const LINK_PROTOCOL = 'slipway-worker-1';

/**
 * Kinds of frames. From the worker: TAKE, RESULT, VALUE, PROGRESS. From the agent: ANSWER, to the call of the same
 * number.
 */
export const FrameKind = { TAKE: 1, RESULT: 2, VALUE: 3, PROGRESS: 4, ANSWER: 5 } as const;

/** Values of an ANSWER's flag. */
export const Answer = { DONE: 0, EMPTY: 1, FAILED: 2 } as const;

/** Largest body that a worker may send, in bytes; larger ones are posted. */
export const LINK_BODY_BYTES_MAX = 64 * 1024;

export interface Frame {
  /** Number of the call, chosen by the worker. */
  call: number;
  kind: number;
  /** RESULT: 1 if the handler was a generator. ANSWER: see Answer. */
  flag: number;
  /**
   * RESULT, VALUE, PROGRESS: the job's id. TAKE: jobs wanted, concurrency, and whether the worker holds any (0 or 1),
   * separated by spaces.
   */
  name: string;
  /** A view of the received bytes. */
  body: Buffer;
}

/** A frame to write. Default: no flag, no name, no body. A body may come in pieces. */
export type NewFrame = Pick<Frame, 'call' | 'kind'> &
  Partial<Pick<Frame, 'flag' | 'name'>> & { body?: readonly Uint8Array[] | string };

const HEAD_BYTES = 12;
const LENGTH_BYTES = 4;
const NAME_BYTES_MAX = 600;
/** Size in bytes from which a piece is written without a copy: copying many megabytes would block the process. */
const LARGE_PIECE_BYTES = 64 * 1024;

/** Cuts received bytes into frames. */
export class FrameReader {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #needed = HEAD_BYTES;

  /** Longer frames are rejected. Default: no limit. */
  constructor(bytesMax = Infinity) {
    this.#bytesMax = bytesMax;
  }

  /**
   * Adds received bytes. Returns the frames that are complete now. Throws if the bytes are not a frame: the connection
   * is then of no use.
   */
  push(piece: Buffer): Frame[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes < this.#needed) return [];
    const all = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    const frames: Frame[] = [];
    let at = 0;
    this.#needed = HEAD_BYTES;
    while (all.length - at >= HEAD_BYTES) {
      const length = LENGTH_BYTES + all.readUInt32BE(at);
      const nameEnd = at + HEAD_BYTES + all.readUInt16BE(at + 10);
      if (length > this.#bytesMax || nameEnd > at + length || nameEnd - at - HEAD_BYTES > NAME_BYTES_MAX)
        throw new Error('not a frame of a worker');
      if (all.length - at < length) {
        this.#needed = length;
        break;
      }
      const name = all.toString('utf8', at + HEAD_BYTES, nameEnd);
      frames.push({
        call: all.readUInt32BE(at + 4),
        kind: all[at + 8]!,
        flag: all[at + 9]!,
        name,
        body: all.subarray(nameEnd, at + length),
      });
      at += length;
    }
    this.#pieces = at < all.length ? [all.subarray(at)] : [];
    this.#bytes = all.length - at;
    return frames;
  }
}

/** Target of writes. */
export interface FrameSink {
  write(bytes: Uint8Array, written: (error?: Error | null) => void): unknown;
}

/** Writes all frames of a tick together. */
export class FrameWriter {
  readonly #sink: FrameSink;
  readonly #soon: (work: () => void) => void;
  #pieces: Uint8Array[] = [];
  #waiting: ((error?: Error | null) => void)[] = [];

  /** `soon` runs work after everything else that is ready in this tick. */
  constructor(sink: FrameSink, soon: (work: () => void) => void) {
    this.#sink = sink;
    this.#soon = soon;
  }

  /** Adds a frame. `written` is called when the operating system has it, or with the error. */
  add({ call, kind, flag, name, body }: NewFrame, written?: (error?: Error | null) => void): void {
    if (this.#pieces.length === 0) this.#soon(() => this.#flush());
    const id = name ?? '';
    const pieces = typeof body === 'string' ? [Buffer.from(body)] : (body ?? []);
    const bytes = bytesIn(pieces);
    const nameBytes = Buffer.byteLength(id);
    const head = Buffer.allocUnsafe(HEAD_BYTES + nameBytes);
    head.writeUInt32BE(HEAD_BYTES - LENGTH_BYTES + nameBytes + bytes, 0);
    head.writeUInt32BE(call, 4);
    head[8] = kind;
    head[9] = flag ?? 0;
    head.writeUInt16BE(nameBytes, 10);
    head.write(id, HEAD_BYTES);
    this.#pieces.push(head);
    for (const piece of pieces) if (piece.length > 0) this.#pieces.push(piece);
    if (written) this.#waiting.push(written);
  }

  #flush(): void {
    const writes = smallJoined(this.#pieces);
    const waiting = this.#waiting;
    this.#pieces = [];
    this.#waiting = [];
    const last = writes.pop()!;
    for (const bytes of writes) this.#sink.write(bytes, () => {});
    this.#sink.write(last, (error) => {
      for (const written of waiting) written(error);
    });
  }
}

/** Returns the same bytes with consecutive small pieces joined, because a write costs more than copying them. */
export function smallJoined(pieces: readonly Uint8Array[]): Uint8Array[] {
  const joined: Uint8Array[] = [];
  let row: Uint8Array[] = [];
  let bytes = 0;
  const end = (): void => {
    if (row.length > 0) joined.push(row.length === 1 ? row[0]! : Buffer.concat(row, bytes));
    row = [];
    bytes = 0;
  };
  for (const piece of pieces) {
    if (bytes + piece.length > LARGE_PIECE_BYTES) end();
    row.push(piece);
    bytes += piece.length;
  }
  end();
  return joined;
}

/** Returns the total length of the pieces. */
export function bytesIn(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}
