/** What the layer of attempts, and the bridge beside it, have to say to core. The session above carries it. */
import type { AttemptOutcome, AttemptProgress, AttemptRef } from '@slipway/proto/gen/slipway/v1/agent_service';

/** An outcome that is too large for the session and travels alone. It knows all that its carrier must ask. */
export interface LargeOutcome {
  /** Names its attempt. */
  readonly key: string;
  readonly ref: AttemptRef;
  /** All chunks of its attempt are stored, so it may be. */
  isReady(): boolean;
  /**
   * The outcome with its output, or undefined when there is nothing to send any more. Rejects: it may be tried again.
   */
  load(): Promise<AttemptOutcome | undefined>;
  /** Core has it. */
  acknowledge(): void;
}

/**
 * Whatever is given to it leaves as soon as it can; without a session it may be dropped, and its owner gives it again
 * to the next one.
 */
export interface ToCore {
  addOutcome(outcome: AttemptOutcome, key?: string): void;
  addProgress(progress: AttemptProgress): void;
  /** An attempt waits in its worker's hand. */
  addWaiting(ref: AttemptRef): void;
  /** The worker changed; its report is made when the message is. */
  addWorker(workerId: string): void;
}

/** Payloads that are too large for the session. */
export interface LargeToCore {
  /** Sends it as soon as its turn comes. */
  send(outcome: LargeOutcome): void;
  /**
   * The input of an attempt. `gone`: core says that the attempt is not current any more. Rejects when it did not
   * arrive.
   */
  fetchInput(ref: AttemptRef): Promise<readonly Uint8Array[] | 'gone'>;
}
