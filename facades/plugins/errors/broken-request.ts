/**
 * Responds on connections that Node passes on as sockets: bytes that are no HTTP request, incomplete requests,
 * oversized headers.
 */
import type { Socket } from 'node:net';
import { helpLink } from '@slipway/kit/net/help-link';
import type { Clock } from '@slipway/kit/time/clock';
import { HEADERS_TOO_LARGE } from '@slipway/proto/wire/limits';
import { DISCARD_BYTES_MAX, isLingering, linger } from '../connections/lingering-close.ts';
import { HttpRejection } from './http-rejection.ts';
import { publicError } from './public-error.ts';
import { shapeOf } from './unknown-route.ts';

/** Matches the start of a request line, as far as it decides the surface. */
const REQUEST_LINE = /^[A-Z]{1,16} (\/[^ ?\r\n]{0,200})/;
const PHRASES: Record<number, string> = {
  400: 'Bad Request',
  404: 'Not Found',
  431: 'Request Header Fields Too Large',
};

/** Node's code for headers or a request that did not arrive in time. */
const LATE = 'ERR_HTTP_REQUEST_TIMEOUT';

/** Node's code for bytes behind a request with `Connection: close`. */
const BEHIND_THE_LAST = 'HPE_CLOSED_CONNECTION';
/** Bytes that a connection had read when the first byte behind its last request was found. */
const readBefore = new WeakMap<Socket, number>();

/** Error of Node for a broken request. */
interface BrokenRequest extends Error {
  code?: string;
  /** Bytes that could not be parsed, as a Buffer. */
  rawPacket?: unknown;
}

/** Handles Node's `clientError`. */
export function rejectBrokenRequest(error: BrokenRequest, socket: Socket, clock: Clock): void {
  // The rest of a rejected request cannot be parsed either.
  if (error.code !== 'ECONNRESET' && isLingering(socket)) return;
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy();
  // The last request gets its own answer, and what follows it none.
  if (error.code === BEHIND_THE_LAST) return discardBehindLast(socket);
  // An unused connection: the client would take a response for the answer to its first request.
  if (error.code === LATE && socket.bytesRead === 0) return void socket.destroy();
  const refusal = rejectionOf(error.code);
  const begin = Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1', 0, 256) : '';
  const path = REQUEST_LINE.exec(begin)?.[1] ?? '';
  end(socket, refusal, path, clock);
}

/** Discards bytes behind the last request, up to a bound. */
function discardBehindLast(socket: Socket): void {
  const before = readBefore.get(socket) ?? socket.bytesRead;
  readBefore.set(socket, before);
  if (socket.bytesRead - before > DISCARD_BYTES_MAX) socket.destroy();
}

/** Rejects CONNECT, which is for proxies. Node passes its socket on. */
export function rejectConnect(socket: Socket, clock: Clock): void {
  socket.on('error', () => socket.destroy());
  end(socket, new HttpRejection('There is no such operation.', { status: 404, code: 'not_found' }), '', clock);
  // Unread bytes would hide the end of the connection.
  socket.resume();
}

function end(socket: Socket, refusal: HttpRejection, path: string, clock: Clock): void {
  const body = JSON.stringify(shapeOf(path)(publicError(refusal)));
  const headers = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `link: ${helpLink(refusal.code)}`,
    'connection: close',
  ];
  socket.write([`HTTP/1.1 ${refusal.httpStatus} ${PHRASES[refusal.httpStatus]}`, ...headers, '', body].join('\r\n'));
  linger(socket, clock);
}

function rejectionOf(code: string | undefined): HttpRejection {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new HttpRejection(HEADERS_TOO_LARGE, { status: 431, code: 'headers_too_large' });
  }
  const text = code === LATE ? 'The request did not arrive in time.' : 'This is not a valid HTTP request.';
  return new HttpRejection(text, { status: 400, code: 'invalid_request' });
}
