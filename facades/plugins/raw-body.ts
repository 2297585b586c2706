/**
 * Reads request bodies as raw bytes whatever their content type says: clients label JSON as forms and send JSON content types
 * without a body (compat.md 1.3). A faulty body is handed to the route as an error instead of being thrown here, because Fastify
 * would then close the connection under a client that is still sending, which never sees the answer.
 */
import type { FastifyInstance } from 'fastify';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../core/runtime/clock.ts';
import { CoreError } from '../../proto/wire/reason.ts';
import { SlowBody } from './public-error.ts';

/** A body, or what is wrong with it. */
export type RawBody = Buffer | CoreError;

/** How patiently bodies are read. */
export interface BodyPatience {
  /** Longest pause between two pieces, in milliseconds. */
  idleMs: number;
  /** Longest time for the whole, in milliseconds. */
  totalMs: number;
}

/** A refused body is read on and thrown away, so that the client gets to read the answer; but no further than this many bytes. */
const DISCARD_BYTES_MAX = 64 * 1024 * 1024;
const EMPTY = Buffer.alloc(0);

/** Makes every route of an app receive `request.body` as RawBody. The limit is `request.bodyBytesMax`. */
export function readRawBodies(app: FastifyInstance, patience: BodyPatience, clock: Clock): void {
  app.removeAllContentTypeParsers();
  app.addHook('onRequest', (request, _reply, done) => {
    const { headers } = request.raw;
    request.sentContentType = headers['content-type'] ?? '';
    headers['content-type'] = undefined;
    done();
  });
  app.addContentTypeParser('*', (request, _payload, done) => {
    new BodyReader(request.raw, request.bodyBytesMax, patience, clock, (body) => done(null, body)).start(response(request));
  });
  // A client that asks before it sends is told to go on only when its body is wanted.
  app.server.on('checkContinue', (request: IncomingMessage, reply: ServerResponse) => {
    repliesToContinue.set(request, reply);
    app.routing(request, reply);
  });
}

/** The bytes of a body; throws what was wrong with it. */
export function bodyBytes(body: unknown): Buffer {
  if (body === undefined || body === null) return EMPTY;
  if (body instanceof Error) throw body;
  return body as Buffer;
}

const repliesToContinue = new WeakMap<IncomingMessage, ServerResponse>();

function response(request: { raw: IncomingMessage }): ServerResponse | undefined {
  return request.raw.headers.expect === undefined ? undefined : repliesToContinue.get(request.raw);
}

class BodyReader {
  readonly #request: IncomingMessage;
  readonly #bytesMax: number;
  readonly #patience: BodyPatience;
  readonly #clock: Clock;
  readonly #done: (body: RawBody) => void;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  #deadlineMs = 0;
  #patienceEnds: Timer | undefined;
  #finished = false;

  constructor(request: IncomingMessage, bytesMax: number, patience: BodyPatience, clock: Clock, done: (body: RawBody) => void) {
    this.#request = request;
    this.#bytesMax = bytesMax;
    this.#patience = patience;
    this.#clock = clock;
    this.#done = done;
  }

  start(waitingForContinue: ServerResponse | undefined): void {
    const request = this.#request;
    request.on('data', (piece: Buffer) => this.#add(piece));
    if (Number(request.headers['content-length'] ?? 0) > this.#bytesMax) return this.#refuse();
    waitingForContinue?.writeContinue();
    request.once('end', () => this.#finish(this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces)));
    request.once('close', () => this.#abort());
    this.#deadlineMs = this.#clock.monotonicMs() + this.#patience.totalMs;
    this.#waitForPiece();
  }

  #add(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax + DISCARD_BYTES_MAX) this.#request.destroy();
    if (this.#finished) return;
    if (this.#bytes > this.#bytesMax) return this.#refuse();
    this.#pieces.push(piece);
    this.#waitForPiece();
  }

  #waitForPiece(): void {
    this.#patienceEnds?.cancel();
    const { idleMs, totalMs } = this.#patience;
    const leftMs = this.#deadlineMs - this.#clock.monotonicMs();
    const text = leftMs < idleMs ? `The body did not arrive within ${totalMs / 1000} s.` : `No part of the body arrived for ${idleMs / 1000} s.`;
    this.#patienceEnds = this.#clock.after(Math.max(0, Math.min(idleMs, leftMs)), () => this.#finish(new SlowBody(text)));
  }

  #refuse(): void {
    this.#pieces.length = 0;
    this.#finish(new CoreError('PAYLOAD_TOO_LARGE', `The body is larger than the ${this.#bytesMax} bytes that this operation takes.`));
    this.#request.resume();
  }

  /** Also runs after every good request, where making an error would cost more than reading the body did. */
  #abort(): void {
    if (!this.#finished) this.#finish(new CoreError('INVALID_REQUEST', 'The connection ended before the body did.'));
  }

  #finish(body: RawBody): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#patienceEnds?.cancel();
    this.#done(body);
  }
}
