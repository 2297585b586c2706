/**
 * A port of this host that leads to a container's: other machines reach the host, but no address of its containers'
 * networks. Bytes pass as they come, both ways, each held up by its reader.
 */

import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { FreePorts } from './free-ports.ts';

/** More connections than any number of facades may have to one worker (docs/reference/api.md#load-balancing). */
const CONNECTIONS_MAX = 10_000;
const TRIES_MAX = 5;

/** Where it leads. */
export interface RelayTarget {
  host: string;
  port: number;
}

export class Relay {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #ports: FreePorts;

  private constructor(port: number, server: Server, sockets: Set<Socket>, ports: FreePorts) {
    this.port = port;
    this.#server = server;
    this.#sockets = sockets;
    this.#ports = ports;
  }

  /** Listens on all addresses of the host. Rejects when no port is to be had. */
  static async open(target: RelayTarget, ports: FreePorts): Promise<Relay> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => join(client, target, sockets));
    server.maxConnections = CONNECTIONS_MAX;
    for (let tries = 1; ; tries += 1) {
      const port = await ports.take();
      try {
        await listen(server, port);
        return new Relay(port, server, sockets, ports);
      } catch (error) {
        ports.give(port);
        if (tries === TRIES_MAX) throw error;
      }
    }
  }

  /** Ends what passes. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#ports.give(this.port);
  }
}

function join(client: Socket, { host, port }: RelayTarget, sockets: Set<Socket>): void {
  const worker = connect({ host, port, allowHalfOpen: true, noDelay: true });
  for (const [side, other] of [
    [client, worker],
    [worker, client],
  ] as const) {
    sockets.add(side);
    side.once('close', () => {
      sockets.delete(side);
      other.destroySoon();
    });
    // What is cut on one side is cut on the other: an end in order would look like a whole answer.
    side.on('error', () => other.resetAndDestroy());
    side.pipe(other);
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      // It ends with the worker, and keeps no process alive.
      server.unref();
      resolve();
    });
  });
}
