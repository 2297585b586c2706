/**
 * Shows which workers of load-balancing endpoints take requests. Whoever watches an endpoint gets its picture in full, at once and at every
 * change. A hint makes it look right away; once a second it looks by itself.
 */
import type { CoreEvents } from '../events/core-events.ts';
import type { Clock, Random } from '../runtime/clock.ts';
import type { Logger } from '../runtime/logger.ts';
import { Loop } from '../runtime/loop.ts';
import { BaseService } from '../runtime/service.ts';
import type { RotationEndpoint } from '../store/edge-store.ts';
import type { Stores } from '../store/storage.ts';

const PERIOD_MS = 1_000;
/** Endpoints of one statement. */
const READ_MAX = 1_000;

/** Hears of an endpoint; undefined: there is no such load-balancing endpoint any more. */
export type RotationListener = (rotation: RotationEndpoint | undefined) => void;

/** What it needs. */
export interface RotationBoardOptions {
  edge: Pick<Stores['edge'], 'rotation'>;
  events: CoreEvents;
  clock: Clock;
  random: Random;
  logger: Logger;
}

interface Watched {
  listeners: Set<RotationListener>;
  /** As it was told last; undefined: it was not read yet. */
  text: string | undefined;
  rotation: RotationEndpoint | undefined;
}

export class RotationBoard extends BaseService {
  readonly name = 'rotation';
  readonly #options: RotationBoardOptions;
  readonly #loop: Loop;
  readonly #watched = new Map<string, Watched>();
  readonly #hinted = new Set<string>();
  #sweptAtMs = -Infinity;
  #offs: (() => void)[] = [];

  constructor(options: RotationBoardOptions) {
    super();
    this.#options = options;
    this.#loop = new Loop({ name: this.name, periodMs: PERIOD_MS, pass: () => this.#pass(), ...options });
  }

  protected override async onStart(): Promise<void> {
    const { events } = this.#options;
    this.#offs = [events.on('rotation', (ids) => this.#hint(ids)), events.on('endpoints', (ids) => this.#hint(ids))];
    await this.#loop.start();
  }

  protected override async onStop(): Promise<void> {
    for (const off of this.#offs) off();
    await this.#loop.stop();
  }

  /** Tells the listener of an endpoint from now on; the result ends that. Listeners must be quick and must not throw. */
  watch(endpointId: string, listener: RotationListener): () => void {
    const watched = this.#watched.get(endpointId) ?? { listeners: new Set(), text: undefined, rotation: undefined };
    this.#watched.set(endpointId, watched);
    watched.listeners.add(listener);
    if (watched.text === undefined) this.#hint([endpointId]);
    else listener(watched.rotation);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0 && this.#watched.get(endpointId) === watched) this.#watched.delete(endpointId);
    };
  }

  #hint(endpointIds: readonly string[]): void {
    const before = this.#hinted.size;
    for (const id of endpointIds) if (this.#watched.has(id)) this.#hinted.add(id);
    if (this.#hinted.size > before) this.#loop.wake();
  }

  async #pass(): Promise<void> {
    const now = this.#options.clock.monotonicMs();
    const sweep = now - this.#sweptAtMs >= PERIOD_MS * 0.9;
    const ids = sweep ? [...this.#watched.keys()] : [...this.#hinted];
    this.#hinted.clear();
    if (sweep) this.#sweptAtMs = now;
    for (let at = 0; at < ids.length; at += READ_MAX) await this.#read(ids.slice(at, at + READ_MAX));
  }

  async #read(ids: readonly string[]): Promise<void> {
    const found = new Map((await this.#options.edge.rotation(ids)).map((rotation) => [rotation.endpointId, rotation]));
    for (const id of ids) {
      const watched = this.#watched.get(id);
      const rotation = found.get(id);
      const text = rotation ? JSON.stringify(rotation) : '';
      if (!watched || watched.text === text) continue;
      watched.text = text;
      watched.rotation = rotation;
      for (const listener of watched.listeners) listener(rotation);
    }
  }
}
