/**
 * Bounds the open connections of one client address. Further ones are closed at once, before anything is read.
 * Connections of proxies and edges are not bounded: they carry the requests of many clients.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '@slipway/kit/log/logger';
import { clientNetwork } from '@slipway/kit/net/network';
import type { FastifyInstance } from 'fastify';

/** Tells clients from proxies. */
interface ProxyCheck {
  /** Returns whether the operator has named the address as a proxy. */
  isProxy(address: string): boolean;
  /** Returns whether an edge proves by its key that a request comes from it. */
  isFromEdge(request: IncomingMessage): boolean;
}

interface ConnectionLimitOptions {
  /** Most open connections of one address, or of one /64 network in IPv6. */
  ofAddressMax: number;
  peers: ProxyCheck;
  /** Called for each connection that is closed. */
  onRejected: () => void;
  logger: Logger;
}

interface Client {
  open: number;
  isEdge: boolean;
}

export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #clients = new Map<string, Client>();

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  /** Counts the connections of an app from now on. */
  addTo(app: FastifyInstance): void {
    const { server } = app;
    const accept = server.listeners('connection');
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => {
      if (!this.#admits(socket)) return void socket.destroy();
      for (const each of accept) Reflect.apply(each, server, [socket]);
    });
    app.addHook('onRequest', ({ raw }, _reply, done) => {
      this.#recognizeEdge(raw);
      done();
    });
  }

  #admits(socket: Socket): boolean {
    const { ofAddressMax, peers, onRejected, logger } = this.#options;
    const { remoteAddress: address } = socket;
    // The client has disconnected.
    if (address === undefined) return false;
    const network = clientNetwork(address);
    const client = this.#clients.get(network) ?? { open: 0, isEdge: false };
    if (client.open >= ofAddressMax && !client.isEdge && !peers.isProxy(address)) {
      onRejected();
      logger.warn(
        { address: network, connections: client.open },
        'an address has too many connections: further ones are closed (SLIPWAY_CONNECTIONS_PER_ADDRESS)',
      );
      return false;
    }
    client.open += 1;
    this.#clients.set(network, client);
    socket.once('close', () => {
      client.open -= 1;
      if (client.open === 0) this.#clients.delete(network);
    });
    return true;
  }

  /** Checks the requests of addresses that come near the limit: an edge need not be named as a proxy. */
  #recognizeEdge(request: IncomingMessage): void {
    const { remoteAddress: address } = request.socket;
    const client = address === undefined ? undefined : this.#clients.get(clientNetwork(address));
    if (!client || client.isEdge || 2 * client.open < this.#options.ofAddressMax) return;
    client.isEdge = this.#options.peers.isFromEdge(request);
  }
}
