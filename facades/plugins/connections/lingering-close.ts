/**
 * Reads what a client still sends after the response that ends its connection, and discards it (a lingering close).
 * Node would destroy the connection at once: the kernel then resets it, because bytes are unread, and a client that
 * sends everything before it reads sees a broken connection instead of the response.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock, Timer } from '@slipway/kit/time/clock';
import { hasBody } from './has-body.ts';

/** Most bytes that are read and discarded after a response, and longest time for that in milliseconds. */
export const DISCARD_BYTES_MAX = 64 * 1024 * 1024;
export const DISCARD_MS_MAX = 20_000;
/** Longest time without a byte in which a closing connection stays open, in milliseconds. */
export const SILENCE_MS_MAX = 5_000;
const CHECK_MS = 1_000;

/** Connections that linger. */
const lingering = new WeakSet<Socket>();

/** Returns whether only the rest of a connection is read: it gets no further response. */
export function isLingering(socket: Socket): boolean {
  return lingering.has(socket);
}

/**
 * Makes all connections of a server linger whose last response is complete before its request. The server must handle
 * `checkContinue` and `checkExpectation`, which Node answers itself otherwise.
 */
export function lingerBeforeClose(server: Server, clock: Clock): void {
  const watch = (request: IncomingMessage, reply: ServerResponse): void => {
    if (!hasBody(request)) return;
    // Before Node's own listener, which closes the connection.
    reply.prependOnceListener('finish', () => {
      if (!request.complete) lingerWithRequest(request, clock);
    });
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, watch);
}

/** Sends what was written, and closes a connection when its client has closed it or a bound is reached. */
export function linger(socket: Socket, clock: Clock): void {
  lingering.add(socket);
  socket.end();
  discard(socket, clock);
}

/** Makes a connection linger when its last response has finished: Node then calls `destroySoon`. */
function lingerWithRequest(request: IncomingMessage, clock: Clock): void {
  const { socket } = request;
  socket.destroySoon = () => {
    // Node's own method again.
    Reflect.deleteProperty(socket, 'destroySoon');
    // The connection was kept, and this is the end of a later response.
    if (request.complete) return socket.destroySoon();
    linger(socket, clock);
    // Everything was read: nothing can reset the connection.
    request.once('end', () => socket.destroySoon());
  };
}

function discard(socket: Socket, clock: Clock): void {
  const start = { bytes: socket.bytesRead, atMs: clock.monotonicMs() };
  let last = start;
  let timer: Timer | undefined;
  const check = (): void => {
    const now = { bytes: socket.bytesRead, atMs: clock.monotonicMs() };
    if (now.bytes !== last.bytes) last = now;
    const isOver =
      now.bytes - start.bytes > DISCARD_BYTES_MAX ||
      now.atMs - start.atMs >= DISCARD_MS_MAX ||
      now.atMs - last.atMs >= SILENCE_MS_MAX;
    if (isOver) socket.destroy();
    else timer = clock.after(CHECK_MS, check);
  };
  timer = clock.after(CHECK_MS, check);
  socket.once('close', () => timer?.cancel());
}
