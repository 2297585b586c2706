/**
 * Enforces rules of HTTP that Node leaves unanswered or answers without a body: one Host, no transfer coding but
 * chunked, only `Expect: 100-continue`, no CONNECT, no request after the last response of a connection.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@slipway/kit/time/clock';
import { HEADERS_TOO_LARGE, HTTP_HEADERS_MAX } from '@slipway/proto/wire/limits';
import type { FastifyInstance } from 'fastify';
import { isLingering } from './connections/lingering-close.ts';
import { rejectConnect } from './errors/broken-request.ts';
import { HttpRejection } from './errors/http-rejection.ts';

/** Matches an absolute address that did not match the Host header (origin-form.ts). */
const ABSOLUTE = /^[^/*]/;

const MORE_THAN_CHUNKED = /,\s*chunked\s*$/i;

/** Closes the connection: nothing after such a request can be trusted. */
const CLOSE = { connection: 'close' };

/** Adds the rules to an app, which must be built with `requireHostHeader: false`. */
export function addHttpRules(app: FastifyInstance, clock: Clock): void {
  const expecting = new WeakSet<IncomingMessage>();
  app.server.on('checkExpectation', (request: IncomingMessage, reply: ServerResponse) => {
    expecting.add(request);
    app.routing(request, reply);
  });
  // Node silently drops headers beyond its limit.
  app.server.maxHeadersCount = 0;
  rejectConnects(app, clock);
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = request;
    // Its client gets no response: it was told that the connection ends, and sends the request again on another.
    if (isLingering(raw.socket)) return void reply.hijack();
    const hosts = countHosts(raw.rawHeaders);
    if (raw.rawHeaders.length > 2 * HTTP_HEADERS_MAX) {
      return done(new HttpRejection(HEADERS_TOO_LARGE, { status: 431, code: 'headers_too_large', headers: CLOSE }));
    }
    if (hosts > 1) return done(badRequest('The request names its host more than once.'));
    // Two components could read a request with two hosts differently.
    if (ABSOLUTE.test(raw.url ?? ''))
      return done(badRequest('The address of the request names another host than its Host header.'));
    if (hosts === 0 && raw.httpVersion === '1.1') return done(badRequest('The request has no Host header.'));
    // Node undoes `chunked` alone, and rejects requests whose last coding is another.
    if (MORE_THAN_CHUNKED.test(raw.headers['transfer-encoding'] ?? ''))
      return done(badRequest('Of transfer codings only "chunked" is understood; use Content-Encoding to compress.'));
    if (raw.headers.expect !== undefined && expecting.has(raw)) {
      return done(
        new HttpRejection('Only "Expect: 100-continue" is understood.', {
          status: 417,
          code: 'expectation_failed',
          headers: CLOSE,
        }),
      );
    }
    done();
  });
}

/** Rejects CONNECT. Node no longer closes such a connection when the server closes, but waits for it. */
function rejectConnects(app: FastifyInstance, clock: Clock): void {
  const open = new Set<Socket>();
  let isClosing = false;
  app.server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    if (isClosing) return void socket.destroy();
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    rejectConnect(socket, clock);
  });
  app.addHook('preClose', (done) => {
    isClosing = true;
    for (const socket of open) socket.destroy();
    done();
  });
}

function badRequest(text: string): HttpRejection {
  return new HttpRejection(text, { status: 400, code: 'invalid_request', headers: CLOSE });
}

/** Counts Host headers: Node keeps only the first. Names and values alternate. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count += 1;
  return count;
}
