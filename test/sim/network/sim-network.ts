/**
 * The network between processes, in memory and in virtual time. gRPC's own clients, interceptors and handlers run above
 * it. Replaces sockets, HTTP/2 and TLS.
 */
import { credentials } from '@grpc/grpc-js';
import type { Transport } from '@slipway/kit/net/channel';
import type { Being } from '../world/being.ts';
import type { World } from '../world/world.ts';
import { SimChannel } from './sim-channel.ts';
import type { Listener } from './sim-connection.ts';
import { CONNECTION_MS, SimConnection } from './sim-connection.ts';

export class SimNetwork {
  readonly #world: World;
  readonly #listeners = new Map<string, Listener>();
  readonly #connections = new Set<SimConnection>();
  /** Returns whether a being may reach an address. */
  mayReach: (client: Being, address: string) => boolean = () => true;

  constructor(world: World) {
    this.#world = world;
  }

  /** Returns how a being reaches others. */
  transportOf(being: Being): Transport {
    return {
      openClient: (Constructor, address, { interceptors } = {}) => {
        const channelOverride = new SimChannel(this.#world, being, address, (done) =>
          this.#connect(being, address, done),
        );
        return new Constructor(address, credentials.createInsecure(), {
          channelOverride,
          ...(interceptors && { interceptors }),
        });
      },
      listen: async (server, address) => {
        this.#listeners.set(address, { server, being });
        return Number(address.slice(address.lastIndexOf(':') + 1));
      },
    };
  }

  /** Connections of a being that pass something. */
  of(being: Being): SimConnection[] {
    return this.#open().filter(({ client, listener }) => client === being || listener.being === being);
  }

  /** Breaks the connections of a process that has died. `isSilent`: with its machine, so that no peer is told. */
  died(being: Being, isSilent = false): void {
    for (const connection of this.of(being)) {
      if (isSilent) connection.silence();
      else connection.cut();
    }
  }

  /** Breaks connections that may not exist any more (see `mayReach`). */
  separate(): void {
    for (const connection of this.#open()) {
      const address = [...this.#listeners].find(([, listener]) => listener === connection.listener)?.[0];
      if (address !== undefined && !this.mayReach(connection.client, address)) connection.cut();
    }
  }

  #open(): SimConnection[] {
    for (const connection of this.#connections) if (!connection.isOpen) this.#connections.delete(connection);
    return [...this.#connections];
  }

  #connect(client: Being, address: string, done: (connection: SimConnection | undefined) => void): void {
    const world = this.#world;
    let isDone = false;
    const over = (connection?: SimConnection): void => {
      if (isDone) return;
      isDone = true;
      done(connection);
    };
    const listener = this.#listeners.get(address);
    const ms = world.between(CONNECTION_MS.least, CONNECTION_MS.usual);
    if (!listener || listener.being.dead || !this.mayReach(client, address))
      return void world.after(ms, client, () => over());
    const connection = new SimConnection(world, client, listener);
    this.#connections.add(connection);
    connection.onBroken = () => over();
    world.after(CONNECTION_MS.mostToOpen, client, () => over());
    connection.send('server', () => connection.send('client', () => over(connection)));
  }
}
