/**
 * What just happened to jobs, for those in this process who wait for it. Local commits are announced by the use cases, those of other
 * replicas by the notifier. An event is a hint: whoever waits also looks by itself from time to time.
 */
import type { AttemptKey } from './slots.ts';

/** Names a job. */
export interface JobKey {
  endpointId: string;
  jobId: string;
}

/** All events. */
export interface JobEventMap {
  /** Jobs became final or were deleted. */
  settled: readonly JobKey[];
  /** Jobs have new chunks. */
  chunks: readonly JobKey[];
  /** Endpoints have queued jobs that nobody has claimed yet. */
  queued: readonly string[];
  /** Attempts must end: their job was cancelled, timed out, expired or given to another worker. */
  stop: readonly (AttemptKey & { machineId: string; reason: string })[];
  /** Desired workers of these machines changed. */
  desired: readonly string[];
  /** Keys were revoked or endpoints changed: cached verdicts are void. */
  access: readonly string[];
}

type Listener<Name extends keyof JobEventMap> = (event: JobEventMap[Name]) => void;

/** See the file's first lines. Listeners must be quick and must not throw. */
export class JobEvents {
  readonly #listeners: { [Name in keyof JobEventMap]: Set<Listener<Name>> } = {
    settled: new Set(), chunks: new Set(), queued: new Set(), stop: new Set(), desired: new Set(), access: new Set(),
  };

  /** Calls `listener` at every event of this name; the result ends that. */
  on<Name extends keyof JobEventMap>(name: Name, listener: Listener<Name>): () => void {
    this.#listeners[name].add(listener);
    return () => { this.#listeners[name].delete(listener); };
  }

  /** Announces. Empty lists are dropped. */
  emit<Name extends keyof JobEventMap>(name: Name, event: JobEventMap[Name]): void {
    if (event.length === 0) return;
    for (const listener of this.#listeners[name]) listener(event);
  }
}
