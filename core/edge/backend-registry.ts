/**
 * Publishes the backends of load-balancing endpoints: the workers that take requests. A watcher gets the full set at
 * once and after every change. Reads after each hint, and once a second.
 */
import type { EndpointBackends } from '../store/machines/edge-store.ts';
import type { BackendWatchOptions } from './backend-watch.ts';
import { BackendWatch } from './backend-watch.ts';

const PERIOD_MS = 1_000;
/** Most endpoints in one statement. */
const READ_MAX = 1_000;

/** Receives an endpoint's backends. `undefined` if it is no longer a load-balancing endpoint. */
type BackendListener = (backends: EndpointBackends | undefined) => void;

interface Watched {
  listeners: Set<BackendListener>;
  /** JSON of the last published set; `undefined` if it was not read yet. */
  text: string | undefined;
  backends: EndpointBackends | undefined;
}

export class BackendRegistry extends BackendWatch {
  readonly #watched = new Map<string, Watched>();
  readonly #hinted = new Set<string>();
  #sweptAtMs = -Infinity;

  constructor(options: BackendWatchOptions) {
    super(options, { name: 'backends', periodMs: PERIOD_MS });
  }

  /**
   * Calls the listener for an endpoint from now on. Returns a function that unsubscribes. Listeners must be quick and
   * must not throw.
   */
  watch(endpointId: string, listener: BackendListener): () => void {
    const watched = this.#watched.get(endpointId) ?? { listeners: new Set(), text: undefined, backends: undefined };
    this.#watched.set(endpointId, watched);
    watched.listeners.add(listener);
    if (watched.text === undefined) this.hint([endpointId]);
    else listener(watched.backends);
    return () => {
      watched.listeners.delete(listener);
      if (watched.listeners.size === 0 && this.#watched.get(endpointId) === watched) this.#watched.delete(endpointId);
    };
  }

  protected override hint(endpointIds: readonly string[]): void {
    const before = this.#hinted.size;
    for (const id of endpointIds) if (this.#watched.has(id)) this.#hinted.add(id);
    if (this.#hinted.size > before) this.wake();
  }

  protected override async pass(): Promise<void> {
    const now = this.options.clock.monotonicMs();
    const sweep = now - this.#sweptAtMs >= PERIOD_MS * 0.9;
    const ids = sweep ? [...this.#watched.keys()] : [...this.#hinted];
    this.#hinted.clear();
    if (sweep) this.#sweptAtMs = now;
    for (let at = 0; at < ids.length; at += READ_MAX) await this.#read(ids.slice(at, at + READ_MAX));
  }

  async #read(ids: readonly string[]): Promise<void> {
    const found = new Map((await this.options.edge.backends(ids)).map((backends) => [backends.endpointId, backends]));
    for (const id of ids) {
      const watched = this.#watched.get(id);
      const backends = found.get(id);
      const text = backends ? JSON.stringify(backends) : '';
      if (!watched || watched.text === text) continue;
      watched.text = text;
      watched.backends = backends;
      for (const listener of watched.listeners) listener(backends);
    }
  }
}
