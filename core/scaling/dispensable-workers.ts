/** Workers that endpoints can do without, as the last looks saw them, and when a stuck endpoint may ask for them again. Forgets what is not seen any more. */

/** Pause in milliseconds after which a stuck endpoint asks again: what refused it may have changed, and each asking is a turn. */
const ASK_AGAIN_MS = 10_000;
/** Workers that one turn looks at. */
const WORKERS_MAX = 1_000;

export class DispensableWorkers {
  readonly #byEndpoint = new Map<string, readonly string[]>();
  readonly #askDueMs = new Map<string, number>();

  /** What a look saw of an endpoint. */
  see(endpointId: string, workerIds: readonly string[]): void {
    if (workerIds.length === 0) this.#byEndpoint.delete(endpointId);
    else this.#byEndpoint.set(endpointId, workerIds);
  }

  /** Forgets all endpoints but these. */
  keepOnly(endpointIds: ReadonlySet<string>): void {
    for (const id of this.#byEndpoint.keys()) if (!endpointIds.has(id)) this.#byEndpoint.delete(id);
    for (const id of this.#askDueMs.keys()) if (!endpointIds.has(id)) this.#askDueMs.delete(id);
  }

  /** Those of all other endpoints. */
  ofOthers(endpointId: string): string[] {
    return [...this.#byEndpoint].flatMap(([id, workerIds]) => (id === endpointId ? [] : workerIds)).slice(0, WORKERS_MAX);
  }

  /** Whether an endpoint that is stuck asks now; the next time is a pause later. */
  askNow(endpointId: string, nowMs: number): boolean {
    if (nowMs < (this.#askDueMs.get(endpointId) ?? -Infinity) || this.ofOthers(endpointId).length === 0) return false;
    this.#askDueMs.set(endpointId, nowMs + ASK_AGAIN_MS);
    return true;
  }
}
