/** A session as the rest of dispatch sees it: enough to reach its agent, and no way into the protocol. */
import type { DesiredWorkers, SessionEndReason, WorkerLogRequest } from '../../proto/gen/slipway/v1/agent_service.ts';
import type { AttemptKey } from '../domain/job.ts';
import type { DesiredWorkerRow } from '../store/worker-store.ts';

/** The key that a session was opened with. */
export interface SessionKey {
  /** UNAUTHORIZED: it does not work, or no longer. */
  check(): Promise<unknown>;
  /** Makes it the machine's own. UNAUTHORIZED: it is another's, or the machine has another. */
  bind(machineId: string): Promise<void>;
}

export interface LiveSession {
  readonly id: string;
  /** The machine it speaks for; empty before the hello. */
  readonly machineId: string;
  /** The run of the agent, as it names it; empty: it does not. */
  readonly instance: string;
  /** Its agent pulls images before they are needed. */
  readonly prefetches: boolean;
  /** Its hello was accepted and it has not ended. */
  readonly isOpen: boolean;
  /** When its last message arrived, on the steady clock. */
  readonly lastSeenAtMs: number;
  /** Ends it normally: what waits is sent, with the reason, its workers leave the pool, its machine's lease runs on. */
  close(text: string, reason: SessionEndReason): void;
  /** Ends an attempt that may run here. Its slot is free when the agent says that it ended. */
  stopAttempt(key: AttemptKey, reason: string): void;
  /** Sends the full set of desired workers and pods, and the images that may be needed. */
  desire(rows: readonly DesiredWorkerRow[], desired: DesiredWorkers): void;
  /** Asks for a worker's log; the answer arrives elsewhere. */
  requestLog(request: WorkerLogRequest): void;
  /** A worker finished an attempt with an answer of its own. */
  healthy(workerId: string): void;
  /** Workers that it reported. */
  workerIds(): string[];
}
