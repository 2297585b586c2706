/**
 * A transport for tests. Each channel of a named part is its own link. A test can hold, resume and cut it while all
 * other links work, also links to the same address. Parts connect over sockets in a folder, at addresses that nothing
 * else can reach. There is no TCP.
 */

import type { Server as NetServer, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { Transport } from '@slipway/kit/net/channel';
import { systemTransport } from '@slipway/kit/net/channel';
import type { Test } from 'tap';
import { scratch } from '../scratch.ts';

/** Direction of data: from the side that opened the link, or from the server. */
export type Saying = 'there' | 'back';

const BOTH: readonly Saying[] = ['there', 'back'];

/** One channel: its connection, and the connections that replace it. */
export class Link {
  /** Part that opened the link, and the service that it calls, such as `JobService`. */
  readonly from: string;
  readonly service: string;
  /** Address of the server, as given by the part that opened the link. */
  readonly address: string;
  readonly #held = new Set<Saying>();
  #bytesLeft = Infinity;
  readonly #open = new Set<{ near: Socket; far: Socket }>();

  constructor(from: string, service: string, address: string) {
    this.from = from;
    this.service = service;
    this.address = address;
  }

  /** True while a connection is open. */
  get isOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Stops delivery without a signal to either side. Data waits, also on new connections. */
  hold(sayings: readonly Saying[] = BOTH): void {
    for (const saying of sayings) this.#held.add(saying);
    this.#flow();
  }

  /** Delivers the held data, and all data from now on. */
  resume(): void {
    this.#held.clear();
    this.#flow();
  }

  /** Closes its connections and discards held data. The next connection is not held. */
  cut(): void {
    this.#held.clear();
    for (const { near, far } of this.#open) {
      near.destroy();
      far.destroy();
    }
  }

  /** Closes its connections in order, as a kernel does for a killed process, after `bytes` more bytes to the server. */
  cutAfter(bytes: number): void {
    this.#bytesLeft = bytes;
  }

  /** Connects the two ends of a new connection. */
  join(near: Socket, far: Socket): void {
    const pair = { near, far };
    this.#open.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('data', (part: Buffer) => {
        if (to === far && part.length >= this.#bytesLeft) this.#end(pair, part);
        else if (!to.write(part)) from.pause();
        if (to === far) this.#bytesLeft -= part.length;
      });
      from.on('end', () => to.end());
      to.on('drain', () => this.#flow());
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#open.delete(pair);
        to.destroy();
      });
    }
    this.#flow();
  }

  #end(pair: { near: Socket; far: Socket }, part: Buffer): void {
    const last = part.subarray(0, this.#bytesLeft);
    this.#bytesLeft = Infinity;
    this.#open.delete(pair);
    pair.near.removeAllListeners('data').removeAllListeners('close').destroy();
    pair.far.end(last);
  }

  #flow(): void {
    for (const { near, far } of this.#open) {
      for (const [saying, from, to] of [
        ['there', near, far],
        ['back', far, near],
      ] as const) {
        if (this.#held.has(saying)) from.pause();
        else if (!to.writableNeedDrain) from.resume();
      }
    }
  }
}

/** All links of a test. */
export class Links {
  readonly #path: (name: string) => string;
  /** Oldest first. */
  readonly all: Link[] = [];
  readonly #servers: NetServer[] = [];
  readonly #cutOff = new Set<string>();
  #ports = 0;

  private constructor(path: (name: string) => string) {
    this.#path = path;
  }

  /** Starts the links. They end with the test. */
  static async start(t: Test): Promise<Links> {
    const links = new Links((await scratch(t)).path);
    t.teardown(() => {
      for (const server of links.#servers) server.close();
      for (const link of links.all) link.cut();
    });
    return links;
  }

  /** Returns the transport of a part. */
  of(part: string): Transport {
    return {
      openClient: (Constructor, address, settings) => {
        const { serviceName = '' } = Constructor as { serviceName?: string };
        const path = this.#join(new Link(part, serviceName.slice(serviceName.lastIndexOf('.') + 1), address));
        return systemTransport.openClient(Constructor, `unix:${path}`, settings);
      },
      listen: async (server, address) => {
        const asked = portOf(address);
        const port = asked === 0 ? (this.#ports += 1) : asked;
        await systemTransport.listen(server, `unix:${this.#served(port)}`);
        return port;
      },
    };
  }

  /** Returns a part's links to a service that have a connection, oldest first. */
  open(part: string, service: string): Link[] {
    return this.all.filter((link) => link.from === part && link.service === service && link.isOpen);
  }

  /** Holds all links of a part, future ones included, so that nothing passes in either direction. */
  cutOff(part: string): void {
    this.#cutOff.add(part);
    for (const link of this.all) if (link.from === part) link.hold();
  }

  /** Makes the part reachable again, over new connections. */
  letBack(part: string): void {
    this.#cutOff.delete(part);
    for (const link of this.all) if (link.from === part) link.cut();
  }

  #join(link: Link): string {
    this.all.push(link);
    if (this.#cutOff.has(link.from)) link.hold();
    const path = this.#path(`link-${this.all.length}`);
    // A server on a path listens before this call returns.
    const server = createServer({ allowHalfOpen: true }, (near) =>
      link.join(near, connect({ path: this.#served(portOf(link.address)), allowHalfOpen: true })),
    );
    this.#servers.push(server.listen(path));
    return path;
  }

  #served(port: number): string {
    return this.#path(`server-${port}`);
  }
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
