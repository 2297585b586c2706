/**
 * Detects when the client of a connection is done with an answer: it sends another request on it, or the connection
 * ends.
 */
import type { Socket } from 'node:net';

const LISTENERS = new WeakMap<Socket, () => void>();

/** Calls `listener` at the next request on the connection, or at its end. A later listener replaces an earlier one. */
export function onceOver(socket: Socket, listener: () => void): void {
  if (socket.destroyed) return listener();
  const over = (): void => {
    socket.off('close', over);
    LISTENERS.delete(socket);
    listener();
  };
  LISTENERS.set(socket, over);
  socket.once('close', over);
}

/** Records that a request has arrived on the connection. */
export function noteRequest(socket: Socket): void {
  LISTENERS.get(socket)?.();
}
