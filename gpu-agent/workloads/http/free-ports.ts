/**
 * Allocates ports for commands of this host that serve HTTP. They share the host's ports, so each gets a free one. The
 * ports lie below the range that the system uses for outgoing connections, which could otherwise take one a moment
 * later.
 */
import { createServer } from 'node:net';
import type { Random } from '@slipway/kit/time/clock';

const PORT_MIN = 20_000;
const PORT_COUNT = 12_000;
const TRIES_MAX = 200;

type IsFree = (port: number) => Promise<boolean>;

export class FreePorts {
  readonly #random: Random;
  readonly #isFree: IsFree;
  readonly #taken = new Set<number>();

  constructor(random: Random, isFree: IsFree = isPortFree) {
    this.#random = random;
    this.#isFree = isFree;
  }

  /** Reserves a free port until `give`. Rejects if none is found. */
  async take(): Promise<number> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const port = PORT_MIN + Math.floor(this.#random.fraction() * PORT_COUNT);
      if (this.#taken.has(port)) continue;
      this.#taken.add(port);
      if (await this.#isFree(port)) return port;
      this.#taken.delete(port);
    }
    throw new Error(`no free port was found from ${PORT_MIN} to ${PORT_MIN + PORT_COUNT - 1}`);
  }

  /** Releases the port. */
  give(port: number): void {
    this.#taken.delete(port);
  }
}

/** Returns whether nothing listens on the port. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
