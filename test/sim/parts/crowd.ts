/** The clients of a run: who comes, and when. */
import { NATURE } from '../world/being.ts';
import type { ClientOptions } from './client.ts';
import { SimClient } from './client.ts';
import type { Phase } from './nemesis.ts';
import type { ShortClientOptions } from './short-client.ts';
import { ShortClient } from './short-client.ts';

interface CrowdOptions extends Omit<ClientOptions, 'replicas' | 'core'>, ShortClientOptions {
  /** Endpoints of clients of all kinds. */
  endpoints: readonly string[];
  /** Facades that answer. */
  facades: ClientOptions['replicas'];
  /** The replica without agents, while no notification arrives. */
  farReplicas: ShortClientOptions['replicas'];
  /** Receives how faults strike from now on. */
  onPhase(phase: Phase): void;
  /** Number of clients, without those with short jobs. */
  count: number;
  /** Clients come as fast as others have left, with short jobs among them, and no faults are special to a phase. */
  isDense: boolean;
}

/** Share of clients that use the queue API. */
const PUBLIC_SHARE = 0.35;
/** Pause between two groups of clients that come, in milliseconds. */
const ARRIVAL_MS = { least: 50, most: 2_000 };
/**
 * Groups of clients with short jobs, after all others: how many come one after the other, how many of them before
 * faults strike, so that replicas learn that the jobs are short, the time between two of them, and the time before
 * each group, in which the endpoint's workers become ready, in milliseconds.
 */
const SHORT_GROUPS = 3;
const SHORT_GROUP = 36;
const SHORT_FIRST = 12;
const SHORT_PAUSE_MS = { least: 0, most: 30 };
const READY_MS = 4_000;
/** Clients of the last group, of whose jobs no notification arrives, and the pause between two, in milliseconds. */
const DEAF_GROUP = 8;
const DEAF_PAUSE_MS = { least: 50, most: 400 };
/** A dense crowd: the most clients at once, the longest pause between two groups, and the share with short jobs. */
const DENSE = { openMax: 25, pauseMsMost: 200, shortShare: 0.15 };

export class Crowd {
  readonly #options: CrowdOptions;
  readonly #clients: SimClient[] = [];
  readonly #short: ShortClient[] = [];
  readonly #added: SimClient[] = [];

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  /** All clients that have come. */
  get all(): readonly (SimClient | ShortClient)[] {
    return [...this.#clients, ...this.#short, ...this.#added];
  }

  /** Clients with jobs of all kinds that have come. */
  get usual(): readonly SimClient[] {
    return this.#clients;
  }

  /** True if nobody else comes. */
  isWhole = false;

  /** Adds a client of another kind of load. */
  add(client: SimClient): void {
    this.#added.push(client);
  }

  /** Ends the arrival of clients. */
  end(): void {
    this.isWhole = true;
  }

  /** Clients come, group by group, some with the key of another one. */
  begin(): void {
    const { world, endpoints, isDense } = this.#options;
    const isFull = isDense && this.all.filter(({ isOver }) => !isOver).length >= DENSE.openMax;
    const size = isFull ? 0 : 1 + Math.floor(world.fraction() * 5);
    for (let n = 0; n < size && !this.#hasAll; n += 1) {
      if (isDense && world.chance(DENSE.shortShare)) this.#addShort();
      const isPublic = world.chance(PUBLIC_SHARE);
      const options = this.#optionsOf(isPublic ? { isPublic, replicas: this.#options.facades } : {});
      const client = new SimClient(options, world.one(endpoints), this.#nextName);
      this.#clients.push(client);
      if (client.hasKey) this.#clients.push(new SimClient(options, client.endpoint, this.#nextName, { like: client }));
    }
    world.after(world.between(ARRIVAL_MS.least, isDense ? DENSE.pauseMsMost : ARRIVAL_MS.most), NATURE, () => {
      if (this.isWhole) return;
      if (!this.#hasAll) return this.begin();
      if (!isDense) return this.#beginShort(SHORT_GROUPS);
      this.isWhole = true;
    });
  }

  /**
   * Starts groups of clients with short jobs. No faults happen before a group's first step. The first groups repeat at
   * the end, when no replica dies any more, so that a violation there cannot be blamed on a dead replica.
   */
  #beginShort(groups: number): void {
    const { world, onPhase } = this.#options;
    onPhase('rest');
    world.after(READY_MS, NATURE, () => {
      this.#comeShort(SHORT_FIRST, () => {
        if (groups === 0) return this.#beginDeaf();
        onPhase('short');
        this.#comeShort(SHORT_GROUP - SHORT_FIRST, () => this.#beginShort(groups - 1));
      });
    });
  }

  /** The last clients come, at a replica without agents, and no notification arrives. */
  #beginDeaf(): void {
    const { world, onPhase } = this.#options;
    onPhase('deaf');
    world.after(READY_MS, NATURE, () => this.#comeDeaf(DEAF_GROUP));
  }

  #comeDeaf(left: number): void {
    const { world, endpoints, onPhase, farReplicas: replicas } = this.#options;
    this.#clients.push(new SimClient(this.#optionsOf({ replicas }), world.one(endpoints), this.#nextName));
    world.after(world.between(DEAF_PAUSE_MS.least, DEAF_PAUSE_MS.most), NATURE, () => {
      if (left > 1) return this.#comeDeaf(left - 1);
      this.isWhole = true;
      onPhase('usual');
    });
  }

  /** So many clients with short jobs come, one after the other: the first show that their endpoint is short. */
  #comeShort(left: number, then: () => void): void {
    const { world } = this.#options;
    this.#addShort();
    world.after(world.between(SHORT_PAUSE_MS.least, SHORT_PAUSE_MS.most), NATURE, () => {
      if (left > 1) this.#comeShort(left - 1, then);
      else then();
    });
  }

  #addShort(): void {
    this.#short.push(new ShortClient(this.#options, `short${this.#short.length}`));
  }

  #optionsOf(own: Partial<ClientOptions>): ClientOptions {
    return { ...this.#options, core: this.#options, ...own };
  }

  get #hasAll(): boolean {
    return this.#clients.length >= this.#options.count;
  }

  get #nextName(): string {
    return `client${this.#clients.length}`;
  }
}
