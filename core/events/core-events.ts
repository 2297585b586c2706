/**
 * Events of this process. Use cases announce local commits, the notifier those of other replicas. An event is a hint:
 * listeners also poll.
 */
import type { JobKey, MachineAttempt } from '../domain/jobs/job.ts';

/** Events published to the other replicas. Their names travel in notices, and the previous release knows them. */
export interface ReplicatedEventMap {
  /** Jobs became final or were deleted. */
  settled: readonly JobKey[];
  /** Jobs have new chunks. */
  chunks: readonly JobKey[];
  /** Endpoints have queued jobs that no replica has claimed yet. */
  queued: readonly string[];
  /** Attempts must end: their job was cancelled, timed out, expired or given to another worker. */
  stop: readonly (MachineAttempt & { reason: string })[];
  /** Desired workers of these machines changed. */
  desired: readonly string[];
  /** The backends of these load-balancing endpoints may have changed. */
  rotation: readonly string[];
  /** These keys were revoked or bound to a machine: cached lookups of them are void. */
  keys: readonly string[];
  /** These endpoints were created, changed or deleted: caches of them are void. */
  endpoints: readonly string[];
  /** These batches were made or cancelled. A release before batches ignores it. */
  batches: readonly string[];
}

/** All events. */
export interface CoreEventMap extends ReplicatedEventMap {
  /** Change of the number of unfinished jobs of normal priority; negative if jobs ended. */
  load: readonly { endpointId: string; jobs: number }[];
  /** These machines joined or have new free capacity. */
  capacity: readonly string[];
}

type Listener<Name extends keyof CoreEventMap> = (event: CoreEventMap[Name]) => void;

/** Listeners must be quick and must not throw. */
export class CoreEvents {
  readonly #listeners: { [Name in keyof CoreEventMap]: Set<Listener<Name>> } = {
    settled: new Set(),
    chunks: new Set(),
    queued: new Set(),
    stop: new Set(),
    desired: new Set(),
    rotation: new Set(),
    keys: new Set(),
    endpoints: new Set(),
    batches: new Set(),
    load: new Set(),
    capacity: new Set(),
  };

  /**
   * Set while an event of another replica is announced: it must not be published back, and that replica has done
   * already what must be done only once.
   */
  relaying = false;
  readonly #onEvent: () => void;

  /** `onEvent`: called at every event. Default: not called. */
  constructor(onEvent: () => void = () => undefined) {
    this.#onEvent = onEvent;
  }

  /** Calls `listener` for every event of this name. Returns a function that unsubscribes. */
  on<Name extends keyof CoreEventMap>(name: Name, listener: Listener<Name>): () => void {
    this.#listeners[name].add(listener);
    return () => {
      this.#listeners[name].delete(listener);
    };
  }

  /** Announces an event. Empty lists are dropped. */
  emit<Name extends keyof CoreEventMap>(name: Name, event: CoreEventMap[Name]): void {
    if (event.length === 0) return;
    this.#onEvent();
    for (const listener of this.#listeners[name]) listener(event);
  }
}
