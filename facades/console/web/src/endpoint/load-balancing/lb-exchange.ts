/**
 * Sends a request and receives its response as it arrives. The response is stored as a Blob, which browsers keep
 * outside of the page's memory. Only its first part is decoded, and only as text.
 */

import { askAnswer } from '../../lib/api.ts';
import { formatJson } from '../../lib/format-json.ts';
import { stopwatch } from '../../lib/stopwatch.ts';
import type { Block } from '../../ui/text-blocks.tsx';
import { withMore } from '../../ui/text-blocks.tsx';
import type { LbRequest } from './lb-request.ts';
import { hasBody, headOf } from './lb-request.ts';

/** Status and headers of the response. */
export interface AnswerHead {
  status: number;
  reason: string;
  headers: readonly (readonly [name: string, value: string])[];
}

/** The state of an exchange. */
export interface Exchange {
  /**
   * `waiting`: nothing has arrived. `refused`: the request was not sent. `broken`: the answer is incomplete. `why` has
   * the reason.
   */
  phase: 'waiting' | 'answering' | 'whole' | 'ended' | 'refused' | 'broken';
  why: string;
  head: AnswerHead | undefined;
  /** Time to the start of the response, and in total, in milliseconds. */
  headMs: number;
  tookMs: number;
  /** Size of the body so far. */
  bytes: number;
  /** `undefined` if nothing of the body has arrived. */
  isText: boolean | undefined;
  blocks: readonly Block[];
  /** True if the body is longer than what is shown. */
  isCut: boolean;
  /** Returns all of the body that has arrived. */
  payload: () => Blob;
}

/** The state before anything has arrived. */
export const NOTHING: Exchange = {
  phase: 'waiting',
  why: '',
  head: undefined,
  headMs: 0,
  tookMs: 0,
  bytes: 0,
  isText: undefined,
  blocks: [],
  isCut: false,
  payload: () => new Blob(),
};

/** Most characters of a body that are shown. */
export const SHOWN_MAX = 1_000_000;
/** Largest complete JSON body that is formatted, in bytes. */
const LAID_OUT_MAX = 200_000;
const GROWTH_MAX = 5;
/** Largest response, in bytes: more than any service allows. */
const KEPT_MAX = 64 * 1_048_576;
const HEAD_BYTES_MAX = 1_048_576;
/** Number of chunks that are merged into one, so that there are never many. */
const PARTS_MAX = 64;
const SNIFFED = 4_096;

export type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/**
 * Sends the request and reports its state, more often than a page can be drawn, until it is over or `signal` ends it.
 * Never rejects.
 */
export async function exchange(
  id: string,
  request: LbRequest,
  signal: AbortSignal,
  report: (exchange: Exchange) => void,
): Promise<void> {
  const sinceMs = stopwatch();
  const payload = new Payload();
  let latest: Exchange = { ...NOTHING, payload: () => payload.blob() };
  const say = (more: Partial<Exchange>): void => report((latest = { ...latest, ...more, tookMs: sinceMs() }));
  say({});
  let reader: Reader | undefined;
  try {
    const response = await askAnswer(
      `/api/lb/${id}`,
      headOf(request),
      hasBody(request) ? request.body : undefined,
      signal,
    );
    reader = response.body!.getReader() as Reader;
    const { head, rest } = await readHead(reader);
    const body = new BodyText(head);
    say({ phase: 'answering', head, headMs: sinceMs() });
    for (let piece: Uint8Array<ArrayBuffer> | undefined = rest; piece; piece = (await reader.read()).value) {
      if (piece.length === 0) continue;
      payload.add(piece);
      body.add(piece);
      say({ bytes: payload.bytes, isText: body.isText, blocks: body.blocks, isCut: body.isCut });
      if (payload.bytes > KEPT_MAX) throw new Error('The answer is larger than a page keeps.');
    }
    say({ phase: 'whole', blocks: await body.whole(payload) });
  } catch (error) {
    // Cancels the request, so that its worker does not continue in vain.
    await reader?.cancel().catch(() => undefined);
    const why = error instanceof Error ? error.message : String(error);
    if (signal.aborted) say({ phase: 'ended', why: 'You stopped it.' });
    // A browser drops what it has of a body that breaks, even the head, if the page has not read it yet.
    else if (!reader) say({ phase: 'refused', why });
    else
      say({
        phase: 'broken',
        why: 'The answer is incomplete: its worker or a connection ended, or it was too long.',
      });
  }
}

/** Collects the bytes of the body. */
class Payload {
  #parts: BlobPart[] = [];
  bytes = 0;

  add(piece: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(piece);
    this.bytes += piece.length;
    if (this.#parts.length > PARTS_MAX) this.#parts = [new Blob(this.#parts)];
  }

  /** Returns the body as a file. With this type no browser opens it as a page. */
  blob(): Blob {
    return new Blob(this.#parts, { type: 'application/octet-stream' });
  }
}

/** Decodes the text that is shown, if the body is text. */
class BodyText {
  readonly #head: AnswerHead;
  readonly #decoder: TextDecoder;
  isText: boolean | undefined;
  blocks: readonly Block[] = [];
  isCut = false;
  #shown = 0;

  constructor(head: AnswerHead) {
    this.#head = head;
    this.#decoder = decoderOf(valueOf(head, 'content-type'));
  }

  add(piece: Uint8Array<ArrayBuffer>): void {
    this.isText ??= isText(this.#head, piece.subarray(0, SNIFFED));
    if (!this.isText || this.isCut) return;
    const text = this.#decoder.decode(piece, { stream: true }).slice(0, SHOWN_MAX + 1 - this.#shown);
    this.#shown += text.length;
    this.isCut = this.#shown > SHOWN_MAX;
    this.blocks = withMore(this.blocks, this.isCut ? text.slice(0, -1) : text, Infinity);
  }

  /** Returns the final form of the text. */
  async whole(payload: Payload): Promise<readonly Block[]> {
    const isJson = /[/+]json\b/i.test(valueOf(this.#head, 'content-type'));
    if (!this.isText || !isJson || payload.bytes > LAID_OUT_MAX) return this.blocks;
    const text = await payload.blob().text();
    return withMore([], formatJson(text, text.length * GROWTH_MAX), Infinity);
  }
}

/** Reads the line in front of the body (facades/console/tried-requests.ts). */
export async function readHead(reader: Reader): Promise<{ head: AnswerHead; rest: Uint8Array<ArrayBuffer> }> {
  let read = new Uint8Array();
  for (let end = -1; ; ) {
    end = read.indexOf(10);
    if (end >= 0)
      return {
        head: JSON.parse(new TextDecoder().decode(read.subarray(0, end))) as AnswerHead,
        rest: read.subarray(end + 1),
      };
    const { value } = await reader.read();
    if (!value || read.length > HEAD_BYTES_MAX)
      throw new Error('The connection to the service ended before there was an answer.');
    const more = new Uint8Array(read.length + value.length);
    more.set(read);
    more.set(value, read.length);
    read = more;
  }
}

/** Returns a header of the response. Empty if there is none of that name. */
export function valueOf({ headers }: AnswerHead, name: string): string {
  return headers.find(([other]) => other.toLowerCase() === name)?.[1] ?? '';
}

function isText(head: AnswerHead, start: Uint8Array<ArrayBuffer>): boolean {
  const packed = valueOf(head, 'content-encoding');
  if (start.includes(0) || (packed !== '' && packed.toLowerCase() !== 'identity')) return false;
  const type = valueOf(head, 'content-type');
  if (/^text\/|[/+](json|xml|javascript|yaml|x-ndjson|jsonl)\b|^application\/x-www-form-urlencoded/i.test(type))
    return true;
  if (/^(image|audio|video|font)\//i.test(type)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function decoderOf(type: string): TextDecoder {
  try {
    return new TextDecoder(/charset="?([\w-]+)/i.exec(type)?.[1] ?? 'utf-8');
  } catch {
    return new TextDecoder();
  }
}
