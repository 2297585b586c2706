/** Reads a form (multipart/form-data) while it arrives, so that a large file is never in memory as a whole. */
import { boundaryOf, formFault, partHead } from './form-body.ts';

/** A part of a form begins, or some bytes of the part that began last. */
type FormEvent = { kind: 'part'; name: string; filename: string | undefined } | { kind: 'bytes'; bytes: Buffer };

/** Most parts of a form, and longest head of a part in bytes. */
const PARTS_MAX = 100;
const HEAD_BYTES_MAX = 4_096;
const HEAD_END = Buffer.from('\r\n\r\n');
const NONE = Buffer.alloc(0);

/** Yields the parts of a form and their bytes, in order. Throws INVALID_REQUEST with the fault. */
export async function* readFormStream(contentType: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<FormEvent> {
  const reader = new FormReader(Buffer.from(`\r\n--${boundaryOf(contentType)}`, 'latin1'));
  for await (const chunk of chunks) yield* reader.read(chunk);
  reader.finish();
}

class FormReader {
  readonly #mark: Buffer;
  /** Where the reader stands: before the first boundary, after one, in the head of a part, in its bytes, at the end. */
  #at: 'start' | 'boundary' | 'head' | 'bytes' | 'end' = 'start';
  /** Bytes that were not understood yet. The first boundary may stand at the very beginning. */
  #rest: Buffer = Buffer.from('\r\n');
  #parts = 0;

  constructor(mark: Buffer) {
    this.#mark = mark;
  }

  *read(chunk: Buffer): Generator<FormEvent> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let isMore = true; isMore; ) {
      const { events, more } = this.#step();
      yield* events;
      isMore = more;
    }
  }

  /** Throws unless the last boundary came. */
  finish(): void {
    if (this.#at !== 'end') throw formFault('its last boundary is missing');
  }

  #step(): { events: FormEvent[]; more: boolean } {
    switch (this.#at) {
      case 'start':
      case 'bytes':
        return this.#readBytes();
      case 'boundary':
        return this.#readBoundary();
      case 'head':
        return this.#readHead();
      case 'end':
        this.#rest = NONE;
        return { events: [], more: false };
    }
  }

  /** Reads up to the next boundary. The beginning of one may be at the end of what is here. */
  #readBytes(): { events: FormEvent[]; more: boolean } {
    const found = this.#rest.indexOf(this.#mark);
    const end = found < 0 ? Math.max(0, this.#rest.length - this.#mark.length + 1) : found;
    const bytes = this.#rest.subarray(0, end);
    const events: FormEvent[] = this.#at === 'bytes' && bytes.length > 0 ? [{ kind: 'bytes', bytes }] : [];
    this.#rest = this.#rest.subarray(found < 0 ? end : end + this.#mark.length);
    if (found >= 0) this.#at = 'boundary';
    return { events, more: found >= 0 };
  }

  #readBoundary(): { events: FormEvent[]; more: boolean } {
    if (this.#rest.length < 2) return { events: [], more: false };
    this.#at = this.#rest.toString('latin1', 0, 2) === '--' ? 'end' : 'head';
    return { events: [], more: true };
  }

  #readHead(): { events: FormEvent[]; more: boolean } {
    const end = this.#rest.indexOf(HEAD_END);
    if (end > HEAD_BYTES_MAX || (end < 0 && this.#rest.length > HEAD_BYTES_MAX))
      throw formFault('a field has no end of its headers');
    if (end < 0) return { events: [], more: false };
    this.#parts += 1;
    if (this.#parts > PARTS_MAX) throw formFault(`it has more than ${PARTS_MAX} fields`);
    const { name, filename } = partHead(this.#rest.toString('utf8', 0, end));
    this.#rest = this.#rest.subarray(end + HEAD_END.length);
    this.#at = 'bytes';
    return { events: [{ kind: 'part', name, filename }], more: true };
  }
}
