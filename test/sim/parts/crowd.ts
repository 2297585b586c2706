/** The clients of a run: who comes, and when. */
import { NATURE } from '../world/being.ts';
import type { ClientOptions } from './client.ts';
import { SimClient } from './client.ts';
import type { Phase } from './nemesis.ts';
import type { ShortClientOptions } from './short-client.ts';
import { ShortClient } from './short-client.ts';

interface CrowdOptions extends ClientOptions, ShortClientOptions {
  /** Endpoints of clients of all kinds. */
  endpoints: readonly string[];
  /** Receives how faults strike from now on. */
  onPhase(phase: Phase): void;
  /** Number of clients, without those with short jobs. */
  count: number;
}

/** Pause between two groups of clients that come, in milliseconds. */
const ARRIVAL_MS = { least: 50, most: 2_000 };
/**
 * Groups of clients with short jobs, after all others: how many come one after the other, the time between two of them,
 * and the time before each group, in which the endpoint's workers become ready, in milliseconds.
 */
const SHORT_GROUPS = 3;
const SHORT_GROUP = 24;
const SHORT_PAUSE_MS = { least: 0, most: 30 };
const READY_MS = 4_000;

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
  isWhole = false;

  /** Clients come, group by group, some with the key of another one. */
  begin(): void {
    const { world, endpoints } = this.#options;
    const size = 1 + Math.floor(world.fraction() * 5);
    for (let n = 0; n < size && !this.#hasAll; n += 1) {
      const client = new SimClient(this.#options, world.one(endpoints), this.#nextName);
      this.#clients.push(client);
      if (client.hasKey) this.#clients.push(new SimClient(this.#options, client.endpoint, this.#nextName, client));
    }
    world.after(world.between(ARRIVAL_MS.least, ARRIVAL_MS.most), NATURE, () => {
      if (this.#hasAll) this.#beginShort(SHORT_GROUPS);
      else this.begin();
    });
  }

  /** Groups with short jobs come. Faults rest before each, and strike at its steps. */
  #beginShort(groups: number): void {
    const { world, onPhase } = this.#options;
    this.isWhole = groups === 0;
    onPhase(this.isWhole ? 'usual' : 'rest');
    if (this.isWhole) return;
    world.after(READY_MS, NATURE, () => {
      onPhase('short');
      this.#comeShort(SHORT_GROUP, () => this.#beginShort(groups - 1));
    });
  }

  /** So many clients with short jobs come, one after the other: the first show that their endpoint is short. */
  #comeShort(left: number, then: () => void): void {
    const { world } = this.#options;
    this.#short.push(new ShortClient(this.#options, `short${this.#short.length}`));
    world.after(world.between(SHORT_PAUSE_MS.least, SHORT_PAUSE_MS.most), NATURE, () => {
      if (left > 1) this.#comeShort(left - 1, then);
      else then();
    });
  }

  get #hasAll(): boolean {
    return this.#clients.length >= this.#options.count;
  }

  get #nextName(): string {
    return `client${this.#clients.length}`;
  }
}
