/**
 * Directory of all load-balancing endpoints with their backends, for proxies. Reads the database only while there are
 * listeners: after each hint, and periodically in full.
 */
import type { EndpointBackends } from '../store/machines/edge-store.ts';
import type { BackendWatchOptions } from './backend-watch.ts';
import { BackendWatch } from './backend-watch.ts';

const PERIOD_MS = 2_000;

/**
 * Receives endpoints that were created, changed or deleted since the last call. Listeners must be quick and must not
 * throw.
 */
type BackendDirectoryListener = (endpointIds: readonly string[]) => void;

export class BackendDirectory extends BackendWatch {
  readonly #endpoints = new Map<string, EndpointBackends>();
  readonly #listeners = new Set<BackendDirectoryListener>();
  readonly #hinted = new Set<string>();
  #readAtMs = -Infinity;
  #loaded = false;

  constructor(options: BackendWatchOptions) {
    super(options, { name: 'backend directory', periodMs: PERIOD_MS });
  }

  /** Returns true once everything was read. Before that no endpoint may be reported as missing. */
  get loaded(): boolean {
    return this.#loaded;
  }

  /** Endpoints by id. */
  get endpoints(): ReadonlyMap<string, EndpointBackends> {
    return this.#endpoints;
  }

  /**
   * Calls the listener after every change, and once after the first full read. Returns a function that unsubscribes.
   */
  listen(listener: BackendDirectoryListener): () => void {
    this.#listeners.add(listener);
    if (!this.#loaded) this.wake();
    return () => {
      this.#listeners.delete(listener);
      // Without listeners nothing is kept up to date: the next listener waits for a fresh read.
      if (this.#listeners.size === 0) this.#loaded = false;
    };
  }

  protected override hint(endpointIds: readonly string[]): void {
    if (this.#listeners.size === 0) return;
    for (const id of endpointIds) this.#hinted.add(id);
    this.wake();
  }

  protected override async pass(): Promise<void> {
    if (this.#listeners.size === 0) return this.#hinted.clear();
    const all = !this.#loaded || this.options.clock.monotonicMs() - this.#readAtMs >= PERIOD_MS * 0.9;
    const ids = all ? undefined : [...this.#hinted];
    this.#hinted.clear();
    if (ids?.length === 0) return;
    if (all) this.#readAtMs = this.options.clock.monotonicMs();
    const found = new Map((await this.options.edge.backends(ids)).map((endpoint) => [endpoint.endpointId, endpoint]));
    // The last listener has left meanwhile: the next one may come in hours.
    if (this.#listeners.size === 0) return;
    const changed = new Set(
      [...(ids ?? this.#endpoints.keys()), ...found.keys()].filter((id) => this.#keep(id, found.get(id))),
    );
    const first = !this.#loaded;
    this.#loaded = true;
    if (first || changed.size > 0) for (const listener of this.#listeners) listener([...changed]);
  }

  /** Stores or removes an endpoint. Returns whether it changed. */
  #keep(id: string, endpoint: EndpointBackends | undefined): boolean {
    if (JSON.stringify(this.#endpoints.get(id)) === JSON.stringify(endpoint)) return false;
    if (endpoint) this.#endpoints.set(id, endpoint);
    else this.#endpoints.delete(id);
    return true;
  }
}
