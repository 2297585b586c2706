/** A connection that switches to another protocol. */
import type { Socket } from 'node:net';

/** Socket of a client that asks for another protocol, and the bytes that followed its request. */
export interface UpgradeSocket {
  socket: Socket;
  head: Buffer;
}
