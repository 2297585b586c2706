/** WebSocket clients that read nothing after the handshake. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** Enough sockets to show a buffer that grows. */
export const UNREAD_SOCKETS = 4;
/** Bytes that a worker sends to each: several times the kernel's buffers of three connections in a row. */
export const TALK_BYTES = 256 * 1024 * 1024;

/**
 * Does the handshake on a new connection and stops reading. The worker at `path` sends as fast as the client reads.
 * Throws if the upgrade is rejected.
 */
export async function openUnread<S extends Socket>(socket: S, path: string, key: string): Promise<S> {
  socket.on('error', () => undefined);
  socket.write(
    `GET ${path} HTTP/1.1\r\n` +
      'host: localhost\r\n' +
      `authorization: Bearer ${key}\r\n` +
      'connection: Upgrade\r\n' +
      'upgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\n' +
      `sec-websocket-key: ${randomBytes(16).toString('base64')}\r\n` +
      '\r\n',
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const line = first.toString('latin1').split('\r\n', 1)[0]!;
  if (!line.startsWith('HTTP/1.1 101')) throw new Error(`upgrade rejected: ${line}`);
  return socket;
}
