/** A connection that is to become another one. */
import type { Socket } from 'node:net';

/** A socket that a client wants to use for another protocol, and what came behind its request. */
export interface UpgradeSocket {
  socket: Socket;
  head: Buffer;
}
