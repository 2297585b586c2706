/**
 * Reads request bodies as raw bytes whatever their content type: clients label JSON as forms and send JSON content
 * types without a body (docs/reference/api.md#clients). A faulty body is passed to the route as an error instead of
 * being thrown here. Fastify would otherwise close the connection of a client that is still sending, and the client
 * would never see the response.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { BytePieces } from '@slipway/kit/bytes/byte-pieces';
import { freeBytes } from '@slipway/kit/bytes/free-bytes';
import type { MemoryBudget, MemoryPermit } from '@slipway/kit/bytes/memory-budget';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { CoreError } from '@slipway/proto/wire/reason';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DISCARD_BYTES_MAX } from '../connections/lingering-close.ts';
import { SlowBody, TooManyRequests } from '../errors/public-error.ts';
import type { Caller } from '../request-state.ts';
import type { UnpackedBody } from './unpack.ts';
import { isPacked, unpack } from './unpack.ts';

/** A body, or the error from reading it. */
type RawBody = Buffer | CoreError;

/** Time limits of reading a body. */
interface BodyTimeouts {
  /** Longest pause between two pieces, in milliseconds. */
  idleMs: number;
  /** Longest time for the whole, in milliseconds. */
  totalMs: number;
}

/**
 * Largest body, in bytes, that is not counted. Most bodies are smaller: such a body takes no more memory than its
 * request does anyway, and counting costs time.
 */
const UNCOUNTED_BYTES_MAX = 16 * 1024;
const EMPTY = Buffer.alloc(0);

interface BodyParts {
  timeouts: BodyTimeouts;
  budget: MemoryBudget;
  clock: Clock;
}

/**
 * Makes every route of an app receive `request.body` as RawBody. The limit is `request.bodyBytesMax`. A larger body
 * counts against the budget until its response has been sent or `dropBody` is called.
 */
export function readRawBodies(app: FastifyInstance, parts: BodyParts): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', (request, reply, done) => {
    const { headers } = request.raw;
    request.sentContentType = headers['content-type'] ?? '';
    headers['content-type'] = undefined;
    // The body reader does not receive the reply.
    if (announcedBytes(request.raw) > UNCOUNTED_BYTES_MAX)
      reply.raw.once('close', () => permits.get(request.raw)?.release());
    done();
  });
  app.addContentTypeParser('*', (request, _payload, done) => {
    const whole = wholeBody(request.raw, request.bodyBytesMax);
    if (whole) return done(null, whole);
    const limits = {
      bytesMax: request.bodyBytesMax,
      accountId: (request.caller as Caller | undefined)?.accountId ?? '',
    };
    new BodyReader(request.raw, limits, parts, (body) => done(null, body)).start(response(request));
  });
  // A client that sent `Expect: 100-continue` gets 100 only when its body is read.
  app.server.on('checkContinue', (request: IncomingMessage, reply: ServerResponse) => {
    repliesToContinue.set(request, reply);
    app.routing(request, reply);
  });
}

/** Returns the bytes of a body. Throws the error of reading it. */
export function bodyBytes(body: unknown): Buffer {
  if (body === undefined || body === null) return EMPTY;
  if (body instanceof Error) throw body;
  return body as Buffer;
}

/** Frees the body and releases its budget. Nothing may read the bytes afterwards. */
export function dropBody(request: FastifyRequest): void {
  const body: unknown = request.body;
  if (Buffer.isBuffer(body)) freeBytes(body);
  request.body = undefined;
  permits.get(request.raw)?.release();
}

const repliesToContinue = new WeakMap<IncomingMessage, ServerResponse>();
const permits = new WeakMap<IncomingMessage, MemoryPermit>();

function response(request: { raw: IncomingMessage }): ServerResponse | undefined {
  return request.raw.headers.expect === undefined ? undefined : repliesToContinue.get(request.raw);
}

/** Returns the announced size in bytes. Infinity if it is unknown or the body is compressed. */
function announcedBytes(request: IncomingMessage): number {
  const { headers } = request;
  return headers['transfer-encoding'] === undefined && !isPacked(request)
    ? Number(headers['content-length'] ?? 0)
    : Infinity;
}

/**
 * Returns a small body that arrived with its headers: it needs no timer, listener or budget. `undefined` if it must
 * be read.
 */
function wholeBody(request: IncomingMessage, bytesMax: number): Buffer | undefined {
  const announced = announcedBytes(request);
  if (announced > Math.min(bytesMax, UNCOUNTED_BYTES_MAX) || request.readableLength !== announced) return undefined;
  if (request.destroyed || request.headers.expect !== undefined) return undefined;
  const body = request.read() as Buffer | null;
  // The end event is still to come, and Node waits for it.
  request.resume();
  return body ?? EMPTY;
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #bytesMax: number;
  readonly #accountId: string;
  readonly #parts: BodyParts;
  readonly #done: (body: RawBody) => void;
  #pieces = new BytePieces();
  /** Bytes as they were sent, before decompression. */
  #sentBytes = 0;
  #unpacked: UnpackedBody | undefined;
  #deadlineMs = 0;
  /** Time at which the last chunk arrived. */
  #pieceMs = 0;
  #timer: Timer | undefined;
  #finished = false;

  constructor(
    request: IncomingMessage,
    limits: { bytesMax: number; accountId: string },
    parts: BodyParts,
    done: (body: RawBody) => void,
  ) {
    this.#request = request;
    this.#bytesMax = limits.bytesMax;
    this.#accountId = limits.accountId;
    this.#parts = parts;
    this.#done = done;
  }

  start(waitingForContinue: ServerResponse | undefined): void {
    const { clock, timeouts } = this.#parts;
    const announced = announcedBytes(this.#request);
    if (announced > this.#bytesMax && announced !== Infinity) {
      this.#refuseLength();
      return this.#listen();
    }
    this.#deadlineMs = clock.monotonicMs() + timeouts.totalMs;
    this.#request.once('close', () => this.#abort());
    const begin = (): void => {
      this.#listen();
      waitingForContinue?.writeContinue();
      this.#pieceMs = clock.monotonicMs();
      this.#waitForPiece();
    };
    if (announced <= UNCOUNTED_BYTES_MAX) begin();
    else this.#beginWithinBudget(Math.min(announced, this.#bytesMax), begin);
    // The client left before a listener was added.
    if (this.#request.destroyed) this.#abort();
  }

  #beginWithinBudget(bytes: number, begin: () => void): void {
    const { clock, timeouts, budget } = this.#parts;
    const received = (): void => {
      this.#pieces = new BytePieces(announcedBytes(this.#request) === bytes ? bytes : 0);
      begin();
    };
    const timedOut = (): void =>
      this.#finish(new TooManyRequests('Too much is being sent at once; try again shortly.', 1));
    this.#timer = clock.after(timeouts.totalMs, timedOut);
    permits.set(this.#request, budget.acquire(this.#accountId, bytes, received));
  }

  #listen(): void {
    this.#request.on('data', (piece: Buffer) => this.#count(piece));
    // A rejected body is only discarded.
    if (this.#finished) return;
    try {
      this.#unpacked = unpack(this.#request, (error) => this.#reject(error));
    } catch (error) {
      return this.#reject(error as CoreError);
    }
    this.#unpacked.body.on('data', (piece: Buffer) => this.#add(piece));
    this.#unpacked.body.once('end', () => this.#finish(this.#pieces.take()));
  }

  /** Counts compressed bytes too: a body of empty pieces decompresses to nothing forever. */
  #count(piece: Buffer): void {
    this.#sentBytes += piece.length;
    if (this.#sentBytes > this.#bytesMax + DISCARD_BYTES_MAX) this.#request.destroy();
    if (this.#finished) return;
    if (this.#sentBytes > this.#bytesMax) return this.#refuseLength();
    this.#pieceMs = this.#parts.clock.monotonicMs();
  }

  #add(piece: Buffer): void {
    if (this.#finished) return;
    if (this.#pieces.bytes + piece.length > this.#bytesMax) return this.#refuseLength();
    this.#pieces.add(piece);
  }

  /** Uses one timer for many pieces: a piece may be a single byte. */
  #waitForPiece(): void {
    this.#timer?.cancel();
    const {
      clock,
      timeouts: { idleMs, totalMs },
    } = this.#parts;
    const isLast = this.#deadlineMs < this.#pieceMs + idleMs;
    const dueMs = isLast ? this.#deadlineMs : this.#pieceMs + idleMs;
    const text = isLast
      ? `The body did not arrive within ${totalMs / 1000} s.`
      : `No part of the body arrived for ${idleMs / 1000} s.`;
    const fromMs = this.#pieceMs;
    this.#timer = clock.after(Math.max(0, dueMs - clock.monotonicMs()), () => {
      if (isLast || this.#pieceMs === fromMs) this.#finish(new SlowBody(text));
      else this.#waitForPiece();
    });
  }

  #refuseLength(): void {
    this.#reject(
      new CoreError(
        'PAYLOAD_TOO_LARGE',
        `The body is larger than the ${this.#bytesMax} bytes that this operation takes.`,
      ),
    );
  }

  #reject(error: CoreError): void {
    this.#finish(error);
    this.#unpacked?.stop();
    this.#request.resume();
  }

  /** Ends a body that broke off. It runs after good requests too, where creating an error would cost too much. */
  #abort(): void {
    // All bytes have arrived; a compressed body is still being decompressed.
    if (this.#finished || this.#request.readableEnded) return;
    this.#finish(new CoreError('INVALID_REQUEST', 'The connection ended before the body did.'));
    this.#unpacked?.stop();
  }

  #finish(body: RawBody): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#timer?.cancel();
    // The request object lives until its response is sent. The chunks need not.
    this.#pieces.clear();
    const permit = permits.get(this.#request);
    if (body instanceof Error) permit?.release();
    else permit?.shrink(body.length);
    this.#done(body);
  }
}
