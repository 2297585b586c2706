/** WebSocket clients that are let in and then read nothing. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';

/** How many at once are enough to show a buffer that grows. */
export const DEAF = 4;
/** What a worker would tell each: several times what the kernel's buffers of three connections in a row grow to. */
export const TALK_BYTES = 256 * 1024 * 1024;

/**
 * Shakes hands on a fresh connection and stops reading. `path`: of a worker that talks as fast as it is heard. Throws
 * when it is not let in.
 */
export async function goDeaf<S extends Socket>(socket: S, path: string, key: string): Promise<S> {
  socket.on('error', () => undefined);
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n` +
      `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  socket.pause();
  const line = first.toString('latin1').split('\r\n', 1)[0]!;
  if (!line.startsWith('HTTP/1.1 101')) throw new Error(`not let in: ${line}`);
  return socket;
}
