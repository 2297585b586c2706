/**
 * Frames of the link between a worker and its agent (docs/reference/worker-protocol.md#link): what several jobs have to
 * say at the same time travels in one write. Both ends use this; it imports nothing, because a handler is shipped
 * without the agent.
 *
 * A frame: bytes that follow (4), number of the call (4), kind (1), flag (1), bytes of the name (2), name, body.
 * Numbers are big-endian.
 */

/** What the worker asks for in the Upgrade header. */
export const LINK_PROTOCOL = 'slipway-worker-1';

/** From the worker: TAKE, RESULT, VALUE, PROGRESS. From the agent: ANSWER, to the call of the same number. */
export const FrameKind = { TAKE: 1, RESULT: 2, VALUE: 3, PROGRESS: 4, ANSWER: 5 } as const;

/** What an ANSWER's flag says. */
export const Answer = { DONE: 0, EMPTY: 1, FAILED: 2 } as const;

/** Largest body that a worker may send; larger ones are posted. Bytes. */
export const LINK_BODY_BYTES_MAX = 64 * 1024;

export interface Frame {
  /** Number of the call, chosen by the worker. */
  call: number;
  kind: number;
  /** RESULT: 1 when the handler was a generator. ANSWER: see Answer. */
  flag: number;
  /**
   * RESULT, VALUE, PROGRESS: the job's id. TAKE: jobs wanted, concurrency, and whether it holds any (0 or 1), with
   * blanks between.
   */
  name: string;
  /** A piece of what was received. */
  body: Buffer;
}

/** One to write. Default: no flag, no name, no body. A body may come in pieces. */
export type NewFrame = Pick<Frame, 'call' | 'kind'> &
  Partial<Pick<Frame, 'flag' | 'name'>> & { body?: readonly Uint8Array[] | string };

const HEAD_BYTES = 12;
const LENGTH_BYTES = 4;
const NAME_BYTES_MAX = 600;
/**
 * Pieces of this size and more are written as they are: a copy of many megabytes would keep the process from everything
 * else. Bytes.
 */
const LARGE_PIECE_BYTES = 64 * 1024;

/** Cuts what arrives into frames. */
export class FrameReader {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #needed = HEAD_BYTES;

  /** Longer frames are refused. Default: none. */
  constructor(bytesMax = Infinity) {
    this.#bytesMax = bytesMax;
  }

  /** The frames that are whole now. Throws when it is no frame: the connection is of no use any more. */
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

/** Where frames are written. */
export interface FrameSink {
  write(bytes: Uint8Array, written: (error?: Error | null) => void): unknown;
}

/** Writes all frames of a turn of the loop together. */
export class FrameWriter {
  readonly #sink: FrameSink;
  readonly #soon: (work: () => void) => void;
  #pieces: Uint8Array[] = [];
  #waiting: ((error?: Error | null) => void)[] = [];

  /** `soon` calls it after what else is ready in this turn. */
  constructor(sink: FrameSink, soon: (work: () => void) => void) {
    this.#sink = sink;
    this.#soon = soon;
  }

  /** Adds a frame. `written`: the operating system has it, or why not. */
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

/**
 * The same bytes: pieces in a row become one as long as all of it is small, because a write costs more than such a
 * copy.
 */
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

/** Of all pieces. */
export function bytesIn(pieces: readonly Uint8Array[]): number {
  let bytes = 0;
  for (const { length } of pieces) bytes += length;
  return bytes;
}
