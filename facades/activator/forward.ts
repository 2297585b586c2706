/**
 * One request on its way to a worker and its answer back. Nothing of the body is read before the worker has said that it wants it (request-body.ts); what
 * was read goes to that worker and to no other. Both directions wait for their reader; no more than a stream's own buffer is ever held.
 */
import type { ClientRequest, IncomingMessage, InformationEvent, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../core/runtime/clock.ts';
import { request as httpRequest } from '../../core/runtime/node-http.ts';
import type { WorkerPlace } from './endpoint-queue.ts';
import { hostPortOf } from './kept-connections.ts';
import type { WatchKey } from '../plugins/key-watch.ts';
import type { KeptConnections } from './kept-connections.ts';
import { pathFormOf, requestHeaders, responseHeaders } from './lb-headers.ts';
import type { LbTarget } from './lb-target.ts';
import { FULL_HEADER } from '../../proto/wire/edge-authorizer.ts';
import { LB_ANSWER_HEADER_BYTES_MAX, LB_ANSWER_HEADERS_MAX, LB_BODY_BYTES_MAX } from '../../proto/wire/limits.ts';
import { noHttp, tooLarge, tooSlow, wordyWorker, workerFailed } from './lb-error.ts';
import type { PathForm } from '../../proto/wire/path-form.ts';
import type { LbError } from './lb-error.ts';
import { hasBody, RequestBody, sendHeaders } from './request-body.ts';
import { joinSockets } from './join-sockets.ts';

/** Longest time for a connection to a worker, in milliseconds. */
const CONNECT_MS = 3_000;

/** Informational answers of one worker that its client is told: nothing holds them up. */
const TOLD_MAX = 20;

/** What may be the words behind a status (RFC 9112, 4): a worker may send anything. */
const MAY_BE_REASON = /^[\t\x20-\x7e\x80-\xff]+$/;

/** As a page this has an origin of its own. */
const SANDBOX = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads';

/** The client's side. */
export interface ClientSide {
  request: IncomingMessage;
  reply: ServerResponse;
  target: LbTarget;
  /** Aborts when the client has gone. */
  gone: AbortSignal;
  /** It is to become another connection: its socket, and what came behind the request. */
  upgrade?: { socket: Socket; head: Buffer } | undefined;
  /** Watches the key while a connection that it opened stays open. Absent: no key opened it. */
  watchKey?: WatchKey | undefined;
}

/** What bounds it. */
export interface ForwardLimits {
  /** From the request to the end of the answer, in milliseconds. */
  processingMs: number;
  /** Longest silence of an upgraded connection, in milliseconds. */
  socketIdleMs: number;
}

/** A connection to a worker; undefined: nobody listens there. */
export function dial(address: string, gone: AbortSignal): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ ...hostPortOf(address), noDelay: true });
    const giveUp = (): void => { socket.destroy(); };
    const done = (result: Socket | undefined): void => {
      gone.removeEventListener('abort', giveUp);
      socket.setTimeout(0);
      resolve(result);
    };
    gone.addEventListener('abort', giveUp, { once: true });
    socket.setTimeout(CONNECT_MS, giveUp);
    socket.once('connect', () => done(socket));
    socket.on('error', () => done(undefined));
    socket.once('close', () => done(undefined));
  });
}

/** `FULL`: the worker said so. `AGAIN`: it must not be asked before it gets a body. In both it had nothing of a body, and any worker may have the request. */
export type Outcome = 'SERVED' | 'FULL' | 'AGAIN';

/** Whom it goes to: a place at a worker, or with an empty id what is no worker. */
export type ForwardPlace = Pick<WorkerPlace, 'workerId' | 'isAsked' | 'askNoMore'>;

/** A connection for this request alone, one for others too, or one of those that are kept (KeptConnections.has). */
export type Way = { socket: Duplex; kept?: undefined } | { socket?: Duplex | undefined; kept: KeptConnections; address: string };

/** Resolves when nothing of it runs any more. Rejects with an LbError while the client may still be answered. */
export function forward(client: ClientSide, way: Way, place: ForwardPlace, limits: ForwardLimits, clock: Clock): Promise<Outcome> {
  return new Promise((resolve, reject) => new Forward(client, way, place, limits, clock, { resolve, reject }).start());
}

interface Over {
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

class Forward {
  readonly #client: ClientSide;
  readonly #way: Way;
  readonly #place: ForwardPlace;
  readonly #limits: ForwardLimits;
  readonly #clock: Clock;
  readonly #over: Over;
  readonly #form: PathForm | undefined;
  #upstream: ClientRequest | undefined;
  #body: RequestBody | undefined;
  #response: IncomingMessage | undefined;
  /** Informational answers. */
  #told = 0;
  #cancelTimer: () => void = () => undefined;
  readonly #left = (): void => this.#fail(undefined);
  /** It has become two sockets, or its answer is whole: what the worker's side does now is no failure. */
  #done = false;

  constructor(client: ClientSide, way: Way, place: ForwardPlace, limits: ForwardLimits, clock: Clock, over: Over) {
    this.#client = client;
    this.#way = way;
    this.#place = place;
    this.#limits = limits;
    this.#clock = clock;
    this.#over = over;
    this.#form = pathFormOf(client.request, client.target.prefix);
  }

  start(): void {
    const { request, target, gone, upgrade } = this.#client;
    const timer = this.#clock.after(this.#limits.processingMs, () => this.#fail(tooSlow()));
    this.#cancelTimer = () => timer.cancel();
    const protocol = upgrade && request.headers.upgrade;
    const origin = { prefix: target.prefix, remoteAddress: request.socket.remoteAddress ?? '', keepsKey: target.keepsKey === true };
    const headers = requestHeaders(request, origin, protocol);
    const { socket, kept } = this.#way;
    // A connection for one request: a worker that closes idle ones can never lose one that it was about to get.
    if (protocol === undefined && !kept) headers.push('Connection', 'close');
    const sendsBody = !upgrade && hasBody(request);
    const asks = sendsBody && this.#place.isAsked;
    if (asks) headers.push('Expect', '100-continue');
    const by = kept ? kept.optionsFor(this.#way.address, socket) : { createConnection: () => socket };
    const upstream = httpRequest({ method: request.method, path: target.path, headers, setHost: false, maxHeaderSize: LB_ANSWER_HEADER_BYTES_MAX, ...by });
    this.#upstream = upstream;
    gone.addEventListener('abort', this.#left);
    upstream.once('response', (response) => this.#answer(response));
    upstream.once('upgrade', (response, worker: Duplex, head) => this.#join(response, worker, head));
    upstream.on('information', (told) => this.#tell(told));
    upstream.on('error', (error: NodeJS.ErrnoException) => (error.code === 'HPE_HEADER_OVERFLOW' ? this.#fail(wordyWorker()) : this.#ended()));
    upstream.once('close', () => this.#ended());
    if (!sendsBody) return void upstream.end();
    this.#body = new RequestBody({ request, reply: this.#client.reply, upstream, clock: this.#clock, onTooLarge: () => this.#fail(tooLarge('request')) });
    if (asks) this.#body.ask();
    else this.#body.send();
  }

  /** What comes before the answer, as early hints do (RFC 9110, 15.2); 100 is the facade's own to say. */
  #tell({ statusCode: status, headers: { connection }, rawHeaders }: InformationEvent): void {
    const { reply, request } = this.#client;
    this.#told += 1;
    if (status === 100 || this.#told > TOLD_MAX || reply.headersSent || request.httpVersionMinor === 0) return;
    reply.writeInformation(status, responseHeaders({ headers: { connection: [connection].flat().join() }, rawHeaders }, '', this.#form));
  }

  #answer(response: IncomingMessage): void {
    const { reply } = this.#client;
    this.#response = response;
    const { statusCode: status = 0 } = response;
    // Node reads such numbers, and throws when they are written.
    if (status < 200) return this.#fail(noHttp());
    if (response.rawHeaders.length > 2 * LB_ANSWER_HEADERS_MAX) return this.#fail(wordyWorker());
    if (this.#isFull(response)) return this.#leave('FULL');
    const taken = this.#body?.answered(status);
    if (taken === 'NO_QUESTIONS' || taken === 'SAID_NOTHING') this.#place.askNoMore();
    if (taken === 'NO_QUESTIONS') return this.#leave('AGAIN');
    if (Number(response.headers['content-length'] ?? 0) > LB_BODY_BYTES_MAX) return this.#fail(tooLarge('response'));
    const headers = responseHeaders(response, this.#place.workerId, this.#form);
    // What waits for a word before it sends its body, and gets an answer, may send it or not.
    if (this.#client.upgrade || taken === 'UNREAD') headers.push('Connection', 'close');
    if (mayBePage(this.#client.target)) headers.push('Content-Security-Policy', SANDBOX);
    reply.writeHead(status, MAY_BE_REASON.test(response.statusMessage ?? '') ? response.statusMessage : undefined, headers);
    // Server-sent events begin with headers alone.
    sendHeaders(reply);
    let bytes = 0;
    response.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes > LB_BODY_BYTES_MAX) return this.#fail(tooLarge('response'));
      if (!reply.write(piece)) response.pause();
    });
    reply.on('drain', () => response.resume());
    response.on('error', () => this.#fail(workerFailed()));
    response.once('end', () => {
      const { rawTrailers } = response;
      const trailers: [string, string][] = [];
      for (let i = 0; i + 1 < rawTrailers.length; i += 2) trailers.push([rawTrailers[i]!, rawTrailers[i + 1]!]);
      if (trailers.length > 0) reply.addTrailers(trailers);
      reply.end();
      this.#finish();
    });
  }

  #isFull({ statusCode, headers }: IncomingMessage): boolean {
    return (statusCode === 503 || statusCode === 429) && headers[FULL_HEADER] !== undefined && this.#body?.isBegun !== true
      && this.#place.workerId !== '';
  }

  /** The request goes to any worker as it came. */
  #leave(outcome: Outcome): void {
    this.#end();
    this.#upstream?.destroy();
    this.#over.resolve(outcome);
  }

  /** What comes after it counts no more. */
  #end(): void {
    this.#done = true;
    this.#cancelTimer();
    this.#body?.stop();
    this.#client.gone.removeEventListener('abort', this.#left);
  }

  /** Two sockets become one connection. */
  #join(response: IncomingMessage, worker: Duplex, head: Buffer): void {
    const { upgrade, reply } = this.#client;
    if (!upgrade) {
      // Node and whoever keeps connections have given it up.
      worker.destroy();
      return this.#fail(noHttp());
    }
    this.#end();
    const { socket } = upgrade;
    reply.detachSocket(socket);
    const headers = responseHeaders(response, this.#place.workerId, this.#form);
    const lines = ['HTTP/1.1 101 Switching Protocols', `Upgrade: ${response.headers.upgrade ?? 'websocket'}`, 'Connection: Upgrade'];
    for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`);
    socket.write(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    if (head.length > 0) worker.unshift(head);
    if (upgrade.head.length > 0) worker.write(upgrade.head);
    const joined = { client: socket, worker, idleMs: this.#limits.socketIdleMs, watchKey: this.#client.watchKey };
    joinSockets(joined, this.#clock, () => this.#over.resolve('SERVED'));
  }

  /** The worker's connection is over. An answer that is whole may still wait here for a client that reads slowly. */
  #ended(): void {
    if (this.#response?.complete !== true) this.#fail(workerFailed());
  }

  /** Undefined: the client has gone, nobody is to be told. */
  #fail(error: LbError | undefined): void {
    if (this.#done) return;
    this.#end();
    const { reply, upgrade } = this.#client;
    this.#upstream?.destroy();
    this.#way.socket?.destroy();
    if (error === undefined || reply.writableEnded) return this.#over.resolve('SERVED');
    if (!reply.headersSent) return this.#over.reject(error);
    // The answer has begun: only a broken connection says that it is not whole.
    (upgrade?.socket ?? reply).destroy();
    this.#over.resolve('SERVED');
  }

  #finish(): void {
    this.#end();
    const { request } = this.#client;
    // An answer may come before all of the request: what is still sent is thrown away by the connection's end.
    if (!request.complete) request.resume();
    if (this.#upstream?.writableFinished === false) this.#upstream.destroy();
    this.#over.resolve('SERVED');
  }
}

/**
 * By path a worker's answer shares its origin with the console, whose session a script in it could use. A browser can open it there only with the key in
 * the query; requests with the key in a header come from programs.
 */
function mayBePage({ prefix, queryKey }: LbTarget): boolean {
  return prefix !== '' && queryKey !== undefined;
}
