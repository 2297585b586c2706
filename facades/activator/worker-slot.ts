/** A request for a worker of a load-balancing endpoint, and the slot that it gets. */

/** Capacity for one request at a worker. */
export interface WorkerSlot {
  workerId: string;
  /** host:port. Empty if the worker is reached by a tunnel. */
  address: string;
  /** Machine whose tunnel leads to the worker. Empty if the worker is reached by its address. */
  tunnelMachineId: string;
  /** Connections to this worker may be pooled and reused. */
  isPooled: boolean;
  /** Whether the request is sent with `Expect: 100-continue`. */
  expectsContinue: boolean;
  /** Sends no `Expect: 100-continue` to this worker from now on, because it does not answer it. */
  disableContinue(): void;
  /** Releases the slot. Idempotent. */
  release(): void;
}

/** A request for a slot. */
export interface SlotRequest {
  /** Preferred worker. `undefined` means any. */
  workerId: string | undefined;
  /** Whether only the preferred worker is acceptable. */
  strict: boolean;
  /** Longest wait in milliseconds. */
  waitMs: number;
  /** Whether the request had a slot at a worker that could not be reached. It then goes to the front of the queue. */
  isRetry: boolean;
  /** Aborts when the client has disconnected or its key was revoked. */
  signal: AbortSignal;
  /** API key of the request. Absent or empty if an edge has authorized it. */
  apiKey?: string;
}
