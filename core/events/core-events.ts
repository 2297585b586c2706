/**
 * What just happened, for those in this process who wait for it. Local commits are announced by the use cases, those of other replicas by
 * the notifier. An event is a hint: whoever waits also looks by itself from time to time.
 */
import type { JobKey, MachineAttempt } from '../domain/job.ts';

/** Events that the other replicas are told of. */
export interface ReplicatedEventMap {
  /** Jobs became final or were deleted. */
  settled: readonly JobKey[];
  /** Jobs have new chunks. */
  chunks: readonly JobKey[];
  /** Endpoints have queued jobs that nobody has claimed yet. */
  queued: readonly string[];
  /** Attempts must end: their job was cancelled, timed out, expired or given to another worker. */
  stop: readonly (MachineAttempt & { reason: string })[];
  /** Desired workers of these machines changed. */
  desired: readonly string[];
  /** Workers of these load-balancing endpoints may have come into the rotation or left it. */
  rotation: readonly string[];
  /** These keys were revoked or bound to a machine: what is remembered of them is void. */
  keys: readonly string[];
  /** These endpoints were made, changed or deleted: what is remembered of them is void. */
  endpoints: readonly string[];
}

/** All events. */
export interface CoreEventMap extends ReplicatedEventMap {
  /** So many more jobs of normal priority came or, below 0, ended here. */
  load: readonly { endpointId: string; jobs: number }[];
  /** What these machines have came free here, or they came themselves. */
  capacity: readonly string[];
}

type Listener<Name extends keyof CoreEventMap> = (event: CoreEventMap[Name]) => void;

/** Listeners must be quick and must not throw. */
export class CoreEvents {
  readonly #listeners: { [Name in keyof CoreEventMap]: Set<Listener<Name>> } = {
    settled: new Set(), chunks: new Set(), queued: new Set(), stop: new Set(), desired: new Set(), rotation: new Set(), keys: new Set(), endpoints: new Set(),
    load: new Set(), capacity: new Set(),
  };

  /** What is being announced came from another replica: it must not go back, and that replica has done what had to be done at once. */
  relaying = false;

  /** Calls `listener` at every event of this name; the result ends that. */
  on<Name extends keyof CoreEventMap>(name: Name, listener: Listener<Name>): () => void {
    this.#listeners[name].add(listener);
    return () => { this.#listeners[name].delete(listener); };
  }

  /** Announces. Empty lists are dropped. */
  emit<Name extends keyof CoreEventMap>(name: Name, event: CoreEventMap[Name]): void {
    if (event.length === 0) return;
    for (const listener of this.#listeners[name]) listener(event);
  }
}
