/** Limit of queue length (docs/reference/api.md#queue-length). */

/** A queue of up to this many jobs is never too long. */
export const QUEUE_LENGTH_FREE = 50;
/** Queued jobs allowed per worker that the endpoint may have. */
export const QUEUE_LENGTH_PER_WORKER = 500;

/** Returns the longest queue of an endpoint. Jobs beyond 50 and beyond 500 for each of its workersMax are rejected. */
export function queueLengthMax(workersMax: number): number {
  return Math.max(QUEUE_LENGTH_FREE, QUEUE_LENGTH_PER_WORKER * workersMax);
}
