/**
 * A port of this host that forwards to a container. Other machines reach the host, but not the addresses of its
 * container networks. Bytes are copied in both directions, with backpressure from each reader.
 */

import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** More connections than all facades together may have to one worker (docs/reference/api.md#load-balancing). */
const CONNECTIONS_MAX = 10_000;
const TRIES_MAX = 5;

/** Reserves ports of this host. */
export interface PortSource {
  /** Reserves a free port until `give`. Rejects if none is found. */
  take(): Promise<number>;
  give(port: number): void;
}

/** Address that a relay forwards to. */
interface RelayTarget {
  host: string;
  port: number;
}

export class Relay {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  readonly #ports: PortSource;

  private constructor(port: number, server: Server, sockets: Set<Socket>, ports: PortSource) {
    this.port = port;
    this.#server = server;
    this.#sockets = sockets;
    this.#ports = ports;
  }

  /** Listens at `listenHost`, by default on all addresses of the host. Rejects if no port can be had. */
  static async open(target: RelayTarget, ports: PortSource, listenHost?: string): Promise<Relay> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => join(client, target, sockets));
    server.maxConnections = CONNECTIONS_MAX;
    for (let tries = 1; ; tries += 1) {
      const port = await ports.take();
      try {
        await listen(server, port, listenHost);
        return new Relay(port, server, sockets, ports);
      } catch (error) {
        ports.give(port);
        if (tries === TRIES_MAX) throw error;
      }
    }
  }

  /** Stops listening and ends all connections. */
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
    // A reset on one side is a reset on the other: an orderly end would look like a complete response.
    side.on('error', () => other.resetAndDestroy());
    side.pipe(other);
  }
}

function listen(server: Server, port: number, host: string | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host }, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      // The relay ends with the worker, and must not keep the process alive.
      server.unref();
      resolve();
    });
  });
}
