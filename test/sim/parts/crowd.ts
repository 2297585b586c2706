/** The clients of a run: who comes, and when. */
import { NATURE } from '../world/being.ts';
import type { ClientOptions } from './client.ts';
import { SimClient } from './client.ts';
import type { ShortClientOptions } from './short-client.ts';
import { ShortClient } from './short-client.ts';

interface CrowdOptions extends ClientOptions, ShortClientOptions {
  /** Endpoints of clients of all kinds. */
  endpoints: readonly string[];
  /** Number of clients, without those with short jobs. */
  count: number;
}

/** Pause between two groups of clients that come, in milliseconds. */
const ARRIVAL_MS = { least: 50, most: 2_000 };
/** Clients with short jobs: how many come one after the other, and the time between two of them, in milliseconds. */
const SHORT_GROUP = 8;
const SHORT_PAUSE_MS = { least: 0, most: 30 };

export class Crowd {
  readonly #options: CrowdOptions;
  readonly #clients: SimClient[] = [];
  readonly #short: ShortClient[] = [];

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** All clients that have come. */
  get all(): readonly (SimClient | ShortClient)[] {
    return [...this.#clients, ...this.#short];
  }

  /** True if nobody else comes. */
  get isWhole(): boolean {
    return this.#clients.length >= this.#options.count;
  }

  /** Clients come, group by group, some with the key of another one. */
  begin(): void {
    const { world, endpoints } = this.#options;
    const size = 1 + Math.floor(world.fraction() * 5);
    for (let n = 0; n < size && !this.isWhole; n += 1) {
      const client = new SimClient(this.#options, world.one(endpoints), this.#nextName);
      this.#clients.push(client);
      if (client.hasKey) this.#clients.push(new SimClient(this.#options, client.endpoint, this.#nextName, client));
    }
    if (world.chance(0.5)) this.#comeShort(SHORT_GROUP);
    world.after(world.between(ARRIVAL_MS.least, ARRIVAL_MS.most), NATURE, () => {
      if (!this.isWhole) this.begin();
    });
  }

  /** So many clients with short jobs come, one after the other: the first show that their endpoint is short. */
  #comeShort(left: number): void {
    const { world } = this.#options;
    this.#short.push(new ShortClient(this.#options, `short${this.#short.length}`));
    world.after(world.between(SHORT_PAUSE_MS.least, SHORT_PAUSE_MS.most), NATURE, () => {
      if (left > 1) this.#comeShort(left - 1);
    });
  }

  get #nextName(): string {
    return `client${this.#clients.length}`;
  }
}
