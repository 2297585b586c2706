/**
 * Forwards one request to a worker and the response back. The body is not read before the worker has asked for it
 * (request-body.ts); bytes that were read go to that worker only. Both directions apply backpressure: no more than a
 * stream's own buffer is held.
 */
import type { ClientRequest, IncomingMessage, InformationEvent } from 'node:http';
import type { Duplex } from 'node:stream';
import { FULL_HEADER } from '@slipway/kit/net/edge-authorizer';
import { request as httpRequest } from '@slipway/kit/net/node-http';
import type { PathForm } from '@slipway/kit/net/path-form';
import type { Clock } from '@slipway/kit/time/clock';
import { LB_ANSWER_HEADER_BYTES_MAX, LB_ANSWER_HEADERS_MAX, LB_BODY_BYTES_MAX } from '@slipway/proto/wire/limits';
import { hasBody } from '../../plugins/connections/has-body.ts';
import type { LbError } from '../lb-error.ts';
import { headerOverflow, payloadTooLarge, processingTimeout, protocolError, workerFailed } from '../lb-error.ts';
import { pathFormOf, requestHeaders, responseHeaders } from '../lb-headers.ts';
import type { LbTarget } from '../lb-target.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import type { ClientSide } from './client-side.ts';
import { joinSockets } from './join-sockets.ts';
import { RequestBody, sendHeaders } from './request-body.ts';
import type { WorkerConnection } from './worker-connection.ts';

/** Most informational responses (1xx) of one request that are forwarded. They have no backpressure. */
const INFORMATIONAL_MAX = 20;

/** A valid reason phrase (RFC 9112, 4). A worker may send anything. */
const REASON_PHRASE = /^[\t\x20-\x7e\x80-\xff]+$/;

/** Content-Security-Policy that gives a page a separate origin. */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads';

/** Time limits of a forwarded request. */
export interface ForwardLimits {
  /** Longest time from the request to the end of the response, in milliseconds. */
  processingMs: number;
  /** Longest silence of an upgraded connection, in milliseconds. */
  socketIdleMs: number;
}

/**
 * Outcome of forwarding. `FULL`: the worker has no capacity. `AGAIN`: the worker rejects `Expect: 100-continue`. In
 * both cases no byte of the body was sent, and any worker may get the request.
 */
type Outcome = 'SERVED' | 'FULL' | 'AGAIN';

/** Target of a forwarded request: a worker, or a pod if `workerId` is empty. */
export type ForwardTarget = Pick<WorkerSlot, 'workerId' | 'expectsContinue' | 'disableContinue'>;

/**
 * Forwards a request. Resolves when it is over. Rejects with an LbError if the client can still get an error response.
 */
export function forward(
  client: ClientSide,
  connection: WorkerConnection,
  target: ForwardTarget,
  limits: ForwardLimits,
  clock: Clock,
): Promise<Outcome> {
  return new Promise((resolve, reject) =>
    new Forward(client, connection, target, limits, clock, { resolve, reject }).start(),
  );
}

interface Completion {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

class Forward {
  readonly #client: ClientSide;
  readonly #connection: WorkerConnection;
  readonly #target: ForwardTarget;
  readonly #limits: ForwardLimits;
  readonly #clock: Clock;
  readonly #completion: Completion;
  readonly #pathForm: PathForm | undefined;
  #upstream: ClientRequest | undefined;
  #body: RequestBody | undefined;
  #response: IncomingMessage | undefined;
  #informational = 0;
  #cancelTimer: () => void = () => undefined;
  readonly #onGone = (): void => this.#fail(undefined);
  /** The response is complete, or the sockets are joined: later events of the worker's side are no failures. */
  #done = false;

  constructor(
    client: ClientSide,
    connection: WorkerConnection,
    target: ForwardTarget,
    limits: ForwardLimits,
    clock: Clock,
    done: Completion,
  ) {
    this.#client = client;
    this.#connection = connection;
    this.#target = target;
    this.#limits = limits;
    this.#clock = clock;
    this.#completion = done;
    this.#pathForm = pathFormOf(client.request, client.target.prefix);
  }

  start(): void {
    const { request, target, gone, upgrade } = this.#client;
    const timer = this.#clock.after(this.#limits.processingMs, () => this.#fail(processingTimeout()));
    this.#cancelTimer = () => timer.cancel();
    const protocol = upgrade && request.headers.upgrade;
    const origin = {
      prefix: target.prefix,
      remoteAddress: request.socket.remoteAddress ?? '',
      keepsKey: target.keepsKey === true,
    };
    const headers = requestHeaders(request, origin, protocol);
    const { socket, pool } = this.#connection;
    // A connection for one request only: a worker that closes idle connections cannot lose this one.
    if (protocol === undefined && !pool) headers.push('Connection', 'close');
    const sendsBody = !upgrade && hasBody(request);
    const expects = sendsBody && this.#target.expectsContinue;
    if (expects) headers.push('Expect', '100-continue');
    const by = pool ? pool.optionsFor(this.#connection.address, socket) : { createConnection: () => socket };
    const upstream = httpRequest({
      method: request.method,
      path: target.path,
      headers,
      setHost: false,
      maxHeaderSize: LB_ANSWER_HEADER_BYTES_MAX,
      ...by,
    });
    this.#upstream = upstream;
    gone.addEventListener('abort', this.#onGone);
    upstream.once('response', (response) => this.#onResponse(response));
    upstream.once('upgrade', (response, worker: Duplex, head) => this.#join(response, worker, head));
    upstream.on('information', (information) => this.#onInformation(information));
    upstream.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'HPE_HEADER_OVERFLOW' ? this.#fail(headerOverflow()) : this.#onClosed(),
    );
    upstream.once('close', () => this.#onClosed());
    if (!sendsBody) return void upstream.end();
    const onTooLarge = (): void => this.#fail(payloadTooLarge('request'));
    const { reply, count } = this.#client;
    const onPiece = (bytes: number): void => count?.addIn(bytes);
    this.#body = new RequestBody({ request, reply, upstream, clock: this.#clock, onTooLarge, onPiece });
    if (expects) this.#body.expectContinue();
    else this.#body.send();
  }

  /** Forwards an informational response, such as early hints (RFC 9110, 15.2). The facade sends 100 itself. */
  #onInformation({ statusCode: status, headers: { connection }, rawHeaders }: InformationEvent): void {
    const { reply, request } = this.#client;
    this.#informational += 1;
    if (
      status === 100 ||
      this.#informational > INFORMATIONAL_MAX ||
      reply.headersSent ||
      request.httpVersionMinor === 0
    )
      return;
    reply.writeInformation(
      status,
      responseHeaders({ headers: { connection: [connection].flat().join() }, rawHeaders }, '', this.#pathForm),
    );
  }

  #onResponse(response: IncomingMessage): void {
    const { reply } = this.#client;
    this.#response = response;
    const { statusCode: status = 0 } = response;
    // Node reads such status codes, but throws when they are written.
    if (status < 200) return this.#fail(protocolError());
    if (response.rawHeaders.length > 2 * LB_ANSWER_HEADERS_MAX) return this.#fail(headerOverflow());
    if (this.#isFull(response)) return this.#giveUp('FULL');
    const bodyOutcome = this.#body?.onResponse(status);
    if (bodyOutcome === 'EXPECT_REJECTED' || bodyOutcome === 'NO_CONTINUE') this.#target.disableContinue();
    if (bodyOutcome === 'EXPECT_REJECTED') return this.#giveUp('AGAIN');
    if (Number(response.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX)
      return this.#fail(payloadTooLarge('response'));
    const headers = responseHeaders(response, this.#target.workerId, this.#pathForm);
    // A client that waits for 100 and gets a final response may send its body or not: the connection cannot be reused.
    if (this.#client.upgrade || bodyOutcome === 'UNREAD') headers.push('Connection', 'close');
    if (needsSandbox(this.#client.target)) headers.push('Content-Security-Policy', SANDBOX);
    reply.writeHead(
      status,
      REASON_PHRASE.test(response.statusMessage ?? '') ? response.statusMessage : undefined,
      headers,
    );
    // Server-sent events start with the headers alone.
    sendHeaders(reply);
    let bytes = 0;
    response.on('data', (piece: Buffer) => {
      bytes += piece.length;
      this.#client.count?.addOut(piece.length);
      if (bytes > LB_BODY_BYTES_MAX) return this.#fail(payloadTooLarge('response'));
      if (!reply.write(piece)) response.pause();
    });
    reply.on('drain', () => response.resume());
    response.on('error', () => this.#fail(workerFailed()));
    response.once('end', () => {
      const trailers = pairsOf(response.rawTrailers);
      if (trailers.length > 0) reply.addTrailers(trailers);
      reply.end();
      this.#finish();
    });
  }

  #isFull({ statusCode, headers }: IncomingMessage): boolean {
    return (
      (statusCode === 503 || statusCode === 429) &&
      headers[FULL_HEADER] !== undefined &&
      this.#body?.isStarted !== true &&
      this.#target.workerId !== ''
    );
  }

  /** Ends this try. Any worker may get the request next. */
  #giveUp(outcome: Outcome): void {
    this.#end();
    this.#upstream?.destroy();
    this.#completion.resolve(outcome);
  }

  /** Ignores later events. */
  #end(): void {
    this.#done = true;
    this.#cancelTimer();
    this.#body?.stop();
    this.#client.gone.removeEventListener('abort', this.#onGone);
  }

  /** Joins the two sockets after a protocol switch. */
  #join(response: IncomingMessage, worker: Duplex, head: Buffer): void {
    const { upgrade, reply } = this.#client;
    if (!upgrade) {
      // Neither Node nor the pool owns this socket any more.
      worker.destroy();
      return this.#fail(protocolError());
    }
    this.#end();
    this.#client.count?.join();
    const { socket } = upgrade;
    reply.detachSocket(socket);
    const headers = responseHeaders(response, this.#target.workerId, this.#pathForm);
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      `Upgrade: ${response.headers.upgrade ?? 'websocket'}`,
      'Connection: Upgrade',
    ];
    for (const [name, value] of pairsOf(headers)) lines.push(`${name}: ${value}`);
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    if (head.length > 0) worker.unshift(head);
    if (upgrade.head.length > 0) worker.write(upgrade.head);
    const joined = { client: socket, worker, idleMs: this.#limits.socketIdleMs, watchKey: this.#client.watchKey };
    joinSockets(joined, this.#clock, () => this.#completion.resolve('SERVED'));
  }

  /** Handles the end of the worker's connection. A complete response may still wait for a slow client. */
  #onClosed(): void {
    if (this.#response?.complete !== true) this.#fail(workerFailed());
  }

  /** Ends with an error. `undefined` if the client has disconnected. */
  #fail(error: LbError | undefined): void {
    if (this.#done) return;
    this.#end();
    const { reply, upgrade } = this.#client;
    this.#upstream?.destroy();
    this.#connection.socket?.destroy();
    if (error === undefined || reply.writableEnded) return this.#completion.resolve('SERVED');
    if (!reply.headersSent) return this.#completion.reject(error);
    // The response has started: only a broken connection shows that it is incomplete.
    this.#client.count?.break();
    (upgrade?.socket ?? reply).destroy();
    this.#completion.resolve('SERVED');
  }

  #finish(): void {
    this.#end();
    const { request } = this.#client;
    // A response may come before the request is complete: the rest of the request is discarded.
    if (!request.complete) request.resume();
    if (this.#upstream?.writableFinished === false) this.#upstream.destroy();
    this.#completion.resolve('SERVED');
  }
}

/**
 * Returns whether a response must be sandboxed. In the path form it shares its origin with the console, whose session a
 * script could use. A browser can open it only with the key in the query; requests with the key in a header come from
 * programs.
 */
function needsSandbox({ prefix, queryKey }: LbTarget): boolean {
  return prefix !== '' && queryKey !== undefined;
}

/** Returns the pairs of a flat list of names and values. */
function pairsOf(flat: readonly string[]): [name: string, value: string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) pairs.push([flat[i]!, flat[i + 1]!]);
  return pairs;
}
