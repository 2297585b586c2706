/**
 * Sends the body of a request to a worker. With `Expect: 100-continue` no byte is read before the worker asks for the
 * body, so a worker that is full can reject the request while another one can still get it. Servers need not send 100:
 * then the body is sent after a timeout.
 */
import type { ClientRequest, IncomingMessage, OutgoingMessage, ServerResponse } from 'node:http';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';

/** Longest wait for 100 Continue, in milliseconds. A worker that answers without it gets no `Expect` again. */
const CONTINUE_TIMEOUT_MS = 1_000;
const EXPECTATION_FAILED = 417;
const EMPTY = Buffer.alloc(0);

interface BodyParts {
  request: IncomingMessage;
  reply: ServerResponse;
  upstream: ClientRequest;
  clock: Clock;
  /** Called when the body is larger than the limit. */
  onTooLarge(): void;
  /** Called for each piece of the body, with its length in bytes. */
  onPiece(bytes: number): void;
}

/**
 * State of the body when the response has come. `SENT`: it was sent, or is being sent or discarded. `EXPECT_REJECTED`:
 * the worker rejects `Expect` (417). `NO_CONTINUE`: the worker took the body without sending 100. `UNREAD`: the worker
 * rejects the request, and the client itself waits for 100.
 */
type BodyOutcome = 'SENT' | 'EXPECT_REJECTED' | 'NO_CONTINUE' | 'UNREAD';

/**
 * Sends the headers now. Node's flushHeaders writes them as UTF-8, which doubles bytes above 0x7f; a write, even an
 * empty one, does not.
 */
export function sendHeaders(message: OutgoingMessage): void {
  message.write(EMPTY);
}

export class RequestBody {
  readonly #parts: BodyParts;
  #timer: Timer | undefined;
  #expects = false;
  #isWanted = false;
  #isDiscarded = false;
  #isStopped = false;
  #bytes = 0;
  /** Part of the body may have reached the worker: no other worker may get the request. */
  isStarted = false;

  constructor(parts: BodyParts) {
    this.#parts = parts;
  }

  /** Sends the body when the worker sends 100, or after a timeout. The request must have `Expect: 100-continue`. */
  expectContinue(): void {
    const { upstream, clock } = this.#parts;
    this.#expects = true;
    this.#timer = clock.after(CONTINUE_TIMEOUT_MS, () => this.send());
    upstream.once('continue', () => {
      this.#isWanted = true;
      // Many servers send 100 before their application sees the request: a rejection that follows at once still counts.
      clock.soon(() => this.send());
    });
  }

  /** Sends the body now. */
  send(): void {
    if (this.isStarted || this.#isStopped) return;
    this.isStarted = true;
    this.#timer?.cancel();
    const { request, reply, upstream } = this.#parts;
    if (request.headers.expect !== undefined && !reply.headersSent) reply.writeContinue();
    // A client may wait for response bytes before it sends its body: Node would hold the headers back until then.
    if (request.readableLength === 0) sendHeaders(upstream);
    this.#read();
  }

  /** Handles the response of the worker, unless it says that the worker is full. */
  onResponse(status: number): BodyOutcome {
    if (!this.#expects) return 'SENT';
    // A worker that was busy and rejects the request may have been about to send 100.
    if (this.isStarted) return this.#isWanted || status >= 400 ? 'SENT' : 'NO_CONTINUE';
    if (status === EXPECTATION_FAILED) return 'EXPECT_REJECTED';
    this.#timer?.cancel();
    if (status >= 400 && this.#parts.request.headers.expect !== undefined) return 'UNREAD';
    if (status >= 400) this.#discard();
    else this.send();
    return 'SENT';
  }

  /** Stops sending. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** Reads and discards the body: the client may read nothing before it has sent all. */
  #discard(): void {
    this.#isDiscarded = true;
    this.#read();
  }

  #read(): void {
    const { request, upstream, onTooLarge, onPiece } = this.#parts;
    const isUnwanted = (): boolean => this.#isDiscarded || upstream.destroyed;
    request.on('data', (piece: Buffer) => {
      this.#bytes += piece.length;
      onPiece(piece.length);
      if (this.#bytes > LB_BODY_BYTES_MAX) return onTooLarge();
      if (!isUnwanted() && !upstream.write(piece)) request.pause();
    });
    upstream.on('drain', () => request.resume());
    request.once('end', () => {
      if (isUnwanted()) return;
      const { rawTrailers } = request;
      const trailers: [string, string][] = [];
      for (let i = 0; i + 1 < rawTrailers.length; i += 2) trailers.push([rawTrailers[i]!, rawTrailers[i + 1]!]);
      if (trailers.length > 0 && request.headers['transfer-encoding'] !== undefined) upstream.addTrailers(trailers);
      upstream.end();
    });
  }
}
