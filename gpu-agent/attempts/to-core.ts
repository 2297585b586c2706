/** Reports of the attempts layer, and of the bridge beside it, to core. The session layer above sends them. */
import type { AttemptOutcome, AttemptProgress, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';

/**
 * An outcome that is too large for the session and is sent on a separate stream. It provides everything that its
 * sender needs.
 */
export interface LargeOutcome {
  /** Key of its attempt. */
  readonly key: string;
  readonly ref: AttemptRef;
  /** Returns true if all chunks of its attempt are stored, so that the outcome may be sent. */
  isReady(): boolean;
  /**
   * Returns the outcome with its output; `undefined` if there is nothing to send any more. Rejects if the read may be
   * tried again.
   */
  load(): Promise<AttemptOutcome | undefined>;
  /** Called when core has it. */
  acknowledge(): void;
}

/**
 * Sink for reports to core. They are sent as soon as possible. Without a session a report may be dropped, and its owner
 * adds it again for the next session.
 */
export interface ToCore {
  addOutcome(outcome: AttemptOutcome, key?: string): void;
  addProgress(progress: AttemptProgress): void;
  /** Reports that an attempt is still prefetched and has not begun. */
  addWaiting(ref: AttemptRef): void;
  /** Marks the worker as changed. Its report is composed together with the message. */
  addWorker(workerId: string): void;
}

/** Transfer of payloads that are too large for the session. */
export interface LargeToCore {
  /** Queues the outcome and sends it in its turn. */
  send(outcome: LargeOutcome): void;
  /**
   * Returns the input of an attempt; `gone` if core says that the attempt is not current any more. Rejects if the input
   * did not arrive.
   */
  fetchInput(ref: AttemptRef): Promise<readonly Uint8Array[] | 'gone'>;
}
