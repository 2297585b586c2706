/** A session as the rest of dispatch sees it: enough to reach its agent, and no way into the protocol. */
import type { DesiredWorkers, SessionEndReason, WorkerLogRequest } from '@slipway/proto/gen/slipway/v1/agent_service';
import type { AttemptKey } from '../domain/jobs/job.ts';
import type { DesiredWorkerRow } from '../store/machines/worker-store.ts';

/** The key that a session was opened with. */
export interface SessionKey {
  /** Throws UNAUTHORIZED if the key is not valid, or not any more. */
  check(): Promise<unknown>;
  /** Binds the key to the machine. Throws UNAUTHORIZED if either is bound to another one. */
  bind(machineId: string): Promise<void>;
}

export interface LiveSession {
  readonly id: string;
  /** The machine of the session; empty before the hello. */
  readonly machineId: string;
  /** The agent's instance id; empty if it sends none. */
  readonly instance: string;
  /** True if its agent prefetches images. */
  readonly prefetches: boolean;
  /** True after its hello was accepted, until it ends. */
  readonly isOpen: boolean;
  /** True after its end, which may come before its hello was accepted. */
  readonly hasEnded: boolean;
  /** When its last message arrived, in monotonic milliseconds. */
  readonly lastSeenAtMs: number;
  /**
   * Ends the session normally: sends what waits and the reason, and removes its workers from the pool. The machine's
   * lease runs on.
   */
  close(text: string, reason: SessionEndReason): void;
  /** Stops an attempt that may run here. Its slot is free when the agent reports its end. */
  stopAttempt(key: AttemptKey, reason: string): void;
  /** Sends the full set of desired workers and pods, and the images that may be needed. */
  desire(rows: readonly DesiredWorkerRow[], desired: DesiredWorkers): void;
  /** Requests a worker's log. The reply arrives elsewhere. */
  requestLog(request: WorkerLogRequest): void;
  /** Records that a worker finished an attempt with a result. */
  healthy(workerId: string): void;
  /** Returns the workers that the session reported. */
  workerIds(): string[];
}
