/**
 * A request's body on its way to a worker. A worker is asked before it gets any (Expect: 100-continue), and nothing of the body is read until it says that
 * it wants it; so one that is full can say so while another may still have the request. Servers need not answer: then it is sent after a while.
 */
import type { ClientRequest, IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { LB_BODY_BYTES_MAX } from '../../proto/wire/limits.ts';

/** How long a worker may take to say that it wants a body, in milliseconds. One that says nothing and answers is not asked again. */
const ASKED_MS = 1_000;
/** "I take no questions." */
const EXPECTATION_FAILED = 417;
const NOTHING = Buffer.alloc(0);

/** What it needs. */
export interface BodyParts {
  request: IncomingMessage;
  reply: ServerResponse;
  upstream: ClientRequest;
  clock: Clock;
  /** There is more of it than may be. */
  onTooLarge(): void;
}

/**
 * What an answer says of the body. `SENT`: it is on its way, or was. `NO_QUESTIONS`: the worker refuses to be asked. `SAID_NOTHING`: it took it
 * without ever having said that it wants it. `UNREAD`: it refuses instead, and the client itself waits for a word before it sends.
 */
export type BodyAnswer = 'SENT' | 'NO_QUESTIONS' | 'SAID_NOTHING' | 'UNREAD';

/** Whether a request has one. */
export function hasBody({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}

/** Sends the headers alone, now. Node's own way writes them as UTF-8, which doubles every byte over 0x7f: with a piece, an empty one too, it does not. */
export function sendHeaders(message: OutgoingMessage): void {
  message.write(NOTHING);
}

export class RequestBody {
  readonly #parts: BodyParts;
  #timer: Timer | undefined;
  #isAsked = false;
  #isWanted = false;
  #isThrownAway = false;
  #isOver = false;
  #bytes = 0;
  /** Some of it may have gone to the worker: nobody else may have the request. */
  isBegun = false;

  constructor(parts: BodyParts) {
    this.#parts = parts;
  }

  /** Sends it as soon as the worker wants it. The request must say `Expect: 100-continue`. */
  ask(): void {
    const { upstream, clock } = this.#parts;
    this.#isAsked = true;
    this.#timer = clock.after(ASKED_MS, () => this.send());
    upstream.once('continue', () => {
      this.#isWanted = true;
      // Many servers say so by themselves, before their program is asked: a refusal that comes along with it still counts.
      clock.soon(() => this.send());
    });
  }

  /** Sends it. */
  send(): void {
    if (this.isBegun || this.#isOver) return;
    this.isBegun = true;
    this.#timer?.cancel();
    const { request, reply, upstream } = this.#parts;
    if (request.headers.expect !== undefined && !reply.headersSent) reply.writeContinue();
    // A client may wait for the worker's first word before it sends any: Node would keep the headers until then.
    if (request.readableLength === 0) sendHeaders(upstream);
    this.#read();
  }

  /** The worker's answer has come, and is no "full". */
  answered(status: number): BodyAnswer {
    if (!this.#isAsked) return 'SENT';
    // One that was busy for long and refuses may have been about to say so.
    if (this.isBegun) return this.#isWanted || status >= 400 ? 'SENT' : 'SAID_NOTHING';
    if (status === EXPECTATION_FAILED) return 'NO_QUESTIONS';
    this.#timer?.cancel();
    if (status >= 400 && this.#parts.request.headers.expect !== undefined) return 'UNREAD';
    if (status >= 400) this.#throwAway();
    else this.send();
    return 'SENT';
  }

  /** Nothing is sent from now on. */
  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  /** The worker wants none of it, and the client may not read before it has sent all. */
  #throwAway(): void {
    this.#isThrownAway = true;
    this.#read();
  }

  #read(): void {
    const { request, upstream, onTooLarge } = this.#parts;
    const isGone = (): boolean => this.#isThrownAway || upstream.destroyed;
    request.on('data', (piece: Buffer) => {
      this.#bytes += piece.length;
      if (this.#bytes > LB_BODY_BYTES_MAX) return onTooLarge();
      if (!isGone() && !upstream.write(piece)) request.pause();
    });
    upstream.on('drain', () => request.resume());
    request.once('end', () => {
      if (isGone()) return;
      const { rawTrailers } = request;
      const trailers: [string, string][] = [];
      for (let i = 0; i + 1 < rawTrailers.length; i += 2) trailers.push([rawTrailers[i]!, rawTrailers[i + 1]!]);
      if (trailers.length > 0 && request.headers['transfer-encoding'] !== undefined) upstream.addTrailers(trailers);
      upstream.end();
    });
  }
}
