/**
 * Cache of workers that may be preempted, from the last evaluations, and when an unplaceable endpoint may preempt
 * again.
 */

/** Pause between two reconciles of an unplaceable endpoint that may preempt workers, in milliseconds. */
const PREEMPT_AGAIN_MS = 10_000;
/** Maximum number of preemptible workers that one reconcile considers. */
const WORKERS_MAX = 1_000;

export class PreemptibleWorkers {
  readonly #byEndpoint = new Map<string, readonly string[]>();
  readonly #askDueMs = new Map<string, number>();

  /** Records the preemptible workers of an endpoint. */
  update(endpointId: string, workerIds: readonly string[]): void {
    if (workerIds.length === 0) this.#byEndpoint.delete(endpointId);
    else this.#byEndpoint.set(endpointId, workerIds);
  }

  /** Forgets all endpoints but these. */
  keepOnly(endpointIds: ReadonlySet<string>): void {
    for (const id of this.#byEndpoint.keys()) if (!endpointIds.has(id)) this.#byEndpoint.delete(id);
    for (const id of this.#askDueMs.keys()) if (!endpointIds.has(id)) this.#askDueMs.delete(id);
  }

  /** Returns the preemptible workers of all other endpoints. */
  ofOthers(endpointId: string): string[] {
    return [...this.#byEndpoint]
      .flatMap(([id, workerIds]) => (id === endpointId ? [] : workerIds))
      .slice(0, WORKERS_MAX);
  }

  /** Returns whether an unplaceable endpoint may preempt workers now, and starts its pause if so. */
  mayPreemptNow(endpointId: string, nowMs: number): boolean {
    if (nowMs < (this.#askDueMs.get(endpointId) ?? -Infinity) || this.ofOthers(endpointId).length === 0) return false;
    this.#askDueMs.set(endpointId, nowMs + PREEMPT_AGAIN_MS);
    return true;
  }
}
